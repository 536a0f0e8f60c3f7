// Checks whether the nodes reach each other.
#include <algorithm>
#include <map>
#include <utility>

#include "base/quantity.h"
#include "diagnosis/issue_list.h"

namespace autodist::diagnosis {
namespace {

using Pair = std::pair<uint32_t, uint32_t>;  // from, to

constexpr size_t kMaxPairsNamed = 3;
constexpr char kRemedy[] =
    "allow TCP between the two in both directions on all ports: ranks choose ports freely";
constexpr char kRemedyForAll[] =
    "allow TCP between all nodes in both directions on all ports: ranks choose ports freely";

// "a port chosen at random", "10.0.0.1, which Gloo uses there, ...".
std::string PortText(const PortTrial& trial) {
  std::string text =
      trial.library.empty() ? "" : trial.address + ", which " + trial.library + " uses there, ";
  return text + (trial.rendezvous ? "rendezvous port " + std::to_string(trial.port)
                                  : "a port chosen at random");
}

// "rendezvous port 29500: timed out", for each pair that cannot connect.
std::map<Pair, std::string> FailedPairs(const Evidence& evidence) {
  std::map<Pair, std::string> failed;
  std::map<Pair, std::string> error_of;  // the first error of a pair
  for (const PortTrial& trial : evidence.trials) {
    const std::string& error = trial.outcome.error();
    if (error.empty() || trial.outcome.stalled()) continue;
    const Pair pair(trial.from, trial.to);
    const std::string port = PortText(trial);
    const auto [first, is_new] = error_of.emplace(pair, error);
    if (is_new) {
      failed[pair] = port + ": " + error;
    } else {
      failed[pair] = first->second == error && trial.library.empty()
                         ? "on all ports: " + error
                         : failed[pair] + "; " + port + ": " + error;
    }
  }
  return failed;
}

std::set<uint32_t> NodesOf(const std::vector<Pair>& pairs) {
  std::set<uint32_t> nodes;
  for (const auto& [from, to] : pairs) nodes.insert({from, to});
  return nodes;
}

// The node that all pairs share, if any.
std::set<uint32_t> CommonNode(const std::vector<Pair>& pairs) {
  std::set<uint32_t> common = {pairs[0].first, pairs[0].second};
  for (const auto& [from, to] : pairs) {
    std::erase_if(common,
                  [&, from = from, to = to](uint32_t node) { return node != from && node != to; });
  }
  return common;
}

// The node's interface with this address, and its MTU; "": unknown.
std::string MtuText(const Evidence& evidence, uint32_t node, const std::string& address) {
  for (const v1::InterfaceFact& interface : FactsOf(evidence, node).interfaces()) {
    if (interface.address() != address || interface.mtu() == 0) continue;
    return interface.name() + " of " + NameOf(evidence, node) + " has an MTU of " +
           std::to_string(interface.mtu());
  }
  return "";
}

std::string MtusOf(const Evidence& evidence, const PortTrial& trial) {
  const std::string from =
      MtuText(evidence, trial.from, PlanOf(evidence, trial.from).data_address());
  const std::string to = MtuText(evidence, trial.to, PlanOf(evidence, trial.to).data_address());
  if (from.empty() || to.empty()) return "";
  return "; " + from + ", " + to;
}

// Small messages pass but larger ones do not: full-size packets are lost.
void AddStalls(const Evidence& evidence, IssueList& issues) {
  constexpr char kMtuRemedy[] =
      "give the interfaces, and what is between them, the same MTU (ip link set dev INTERFACE mtu "
      "1400 on both shows whether that is it), or let ICMP \"fragmentation needed\" pass";
  std::vector<const PortTrial*> stalls;
  std::set<uint32_t> nodes;
  std::set<Pair> pairs;
  for (const PortTrial& trial : evidence.trials) {
    if (!trial.outcome.stalled()) continue;
    const Pair pair = std::minmax(trial.from, trial.to);
    if (!pairs.insert(pair).second) continue;
    stalls.push_back(&trial);
    nodes.insert({trial.from, trial.to});
  }
  if (stalls.empty()) return;
  const PortTrial& first = *stalls.front();
  std::string what = NameOf(evidence, first.from) + " and " + NameOf(evidence, first.to);
  if (stalls.size() > 1) what += " and " + base::Count(stalls.size() - 1, "other pair");
  what += " exchange small messages, but " + first.outcome.error() +
          ": packets of full size get lost" + MtusOf(evidence, first);
  issues.AddForAll(v1::CHECK_NETWORK, v1::CHECK_RESULT_BAD, nodes, what, kMtuRemedy);
}

void AddPairs(const Evidence& evidence, const std::vector<Pair>& pairs, size_t tried,
              const std::string& how, IssueList& issues) {
  if (pairs.size() <= kMaxPairsNamed) {
    for (const auto& [from, to] : pairs) {
      const bool both = std::ranges::count(pairs, Pair(to, from)) > 0;
      if (both && from > to) continue;
      const std::string who =
          both ? " and " + NameOf(evidence, to) + " cannot connect to each other, "
               : " cannot connect to " + NameOf(evidence, to) + ", ";
      issues.AddForAll(v1::CHECK_NETWORK, v1::CHECK_RESULT_BAD, {from, to},
                       NameOf(evidence, from) + who + how, kRemedy);
    }
    return;
  }
  const std::string count = base::Thousands(pairs.size()) + " of " + base::Thousands(tried) +
                            " pairs of nodes do not reach each other";
  const std::set<uint32_t> common = CommonNode(pairs);
  const bool one = common.size() == 1;
  issues.AddForAll(
      v1::CHECK_NETWORK, v1::CHECK_RESULT_BAD, one ? common : NodesOf(pairs),
      count + (one ? ", all those with " + NameOf(evidence, *common.begin()) : "") + ", " + how,
      kRemedyForAll);
}

// Checks the rendezvous port that the user chose.
void AddTakenPort(const Evidence& evidence, IssueList& issues) {
  if (evidence.fixed_port == 0) return;
  for (const uint32_t node : ReachedNodes(evidence)) {
    const auto& taken = evidence.nodes[node].prepared.ports_taken();
    if (std::ranges::count(taken, evidence.fixed_port) == 0) continue;
    issues.Bad(v1::CHECK_NETWORK, node,
               "the rendezvous port " + std::to_string(evidence.fixed_port) +
                   " is in use there, by another program",
               "stop it (`ss -tlnp` shows it), or choose another port with --master-port");
  }
}

}  // namespace

void CheckNetwork(const Evidence& evidence, IssueList& issues) {
  for (uint32_t node = 0; node < evidence.port_issues.size(); ++node) {
    if (evidence.port_issues[node].empty()) continue;
    issues.Bad(v1::CHECK_NETWORK, node, evidence.port_issues[node],
               "free the port, or choose another one with --master-port");
  }
  AddTakenPort(evidence, issues);
  AddStalls(evidence, issues);
  std::set<Pair> tried;
  for (const PortTrial& trial : evidence.trials) {
    issues.Checked(v1::CHECK_NETWORK, trial.from);
    issues.Checked(v1::CHECK_NETWORK, trial.to);
    tried.emplace(trial.from, trial.to);
  }
  std::map<std::string, std::vector<Pair>> alike;
  for (const auto& [pair, how] : FailedPairs(evidence)) alike[how].push_back(pair);
  for (const auto& [how, pairs] : alike) AddPairs(evidence, pairs, tried.size(), how, issues);
}

}  // namespace autodist::diagnosis
