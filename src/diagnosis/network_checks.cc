// Checks the identity of the nodes' machines, the addresses of their ranks, and whether the nodes
// reach each other.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <absl/strings/str_join.h>
#include "base/a_few_of.h"
#include "base/for_user.h"
#include "base/ip_address.h"
#include "base/quantity.h"
#include "diagnosis/issue_list.h"

namespace autodist::diagnosis {
namespace {

std::string Interfaces(const v1::NodeInfo& facts) {
  std::string text;
  for (const v1::InterfaceFact& interface : facts.interfaces()) {
    const auto ip = base::IpAddress::Parse(interface.address());
    if (ip && (ip->IsLoopback() || ip->IsLinkLocal())) continue;
    text += (text.empty() ? "" : ", ") + interface.address() + " (" + interface.name() + ")";
  }
  return text.empty() ? "none" : text;
}

// The names of interfaces that other nodes may reach; unlike addresses, they are alike on many
// nodes.
std::string InterfaceNames(const v1::NodeInfo& facts) {
  std::set<std::string> names;
  for (const v1::InterfaceFact& interface : facts.interfaces()) {
    const auto ip = base::IpAddress::Parse(interface.address());
    if (ip && !ip->IsLoopback()) names.insert(interface.name());
  }
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

std::string NamesOf(const Evidence& evidence, const std::set<uint32_t>& nodes) {
  constexpr size_t kMaxNamed = 8;
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const uint32_t node : nodes) names.push_back(NameOf(evidence, node));
  return base::AFewOf(names, kMaxNamed);
}

// Checks the address that the node reports for its ranks; `owners` has those of other nodes.
void CheckReported(const Evidence& evidence, const std::vector<uint32_t>& machines, uint32_t node,
                   std::map<std::string, uint32_t>& owners, IssueList& issues) {
  const std::string& reported = evidence.nodes[node].prepared.data_address();
  const auto address = base::IpAddress::Parse(reported);
  if (!address) {
    issues.Bad(v1::CHECK_ADDRESS, node, "no address between ranks is reported",
               HintOfNoDataAddress());
    return;
  }
  const auto [owner, is_new] = owners.emplace(address->ToString(), node);
  if (is_new || machines[owner->second] == machines[node]) return;
  issues.AddForAll(v1::CHECK_ADDRESS, v1::CHECK_RESULT_BAD, {owner->second, node},
                   NameOf(evidence, owner->second) + " and " + NameOf(evidence, node) +
                       " both report " + address->ToString() + " as their address between ranks",
                   HintOfSameDataAddress());
}

// Whether the node's ranks use the library between nodes.
bool IsUsed(const v1::RankNetwork& network, const v1::NodePlan& node) {
  return network.library() != "NCCL" || HasGpus(node);
}

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
      "give the interfaces, and what is between them, the same MTU (setting both to 1400 with `ip "
      "link` shows whether that is it), or let ICMP \"fragmentation needed\" pass";
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
               "stop it (`ss -tlnp` shows it), or choose another port with --master-port, or leave "
               "the option out");
  }
}

}  // namespace

std::string HintOfNoDataAddress() {
  return base::ForUser(
      "[spec|give it as data_address in the spec]"
      "[hosts|write a spec with `autodist init`, and give it there]");
}

std::string HintOfSameDataAddress() {
  return base::ForUser(
      "[spec|give each node's own as data_address in the spec, or the network as interface]"
      "[hosts|write a spec with `autodist init`, and give each node's own there]");
}

bool HasDataAddress(const v1::NodePlan& plan, const v1::NodeInfo& facts) {
  auto wanted = base::IpAddress::Parse(plan.data_address());
  if (!wanted) return false;
  wanted->scope.clear();
  return wanted->IsLoopback() ||
         std::ranges::any_of(facts.interfaces(), [&](const v1::InterfaceFact& interface) {
           auto ip = base::IpAddress::Parse(interface.address());
           if (ip) ip->scope.clear();
           return ip == wanted;
         });
}

void CheckMachines(const Evidence& evidence, IssueList& issues) {
  std::map<uint32_t, std::set<uint32_t>> nodes_of;
  const auto machines = MachinesOf(evidence);
  for (uint32_t node = 0; node < machines.size(); ++node) nodes_of[machines[node]].insert(node);
  for (const auto& [first, nodes] : nodes_of) {
    if (nodes.size() < 2) continue;
    const std::string& name = FactsOf(evidence, first).hostname();
    issues.AddForAll(v1::CHECK_NAME, v1::CHECK_RESULT_BAD, nodes,
                     NamesOf(evidence, nodes) + " are the same machine" +
                         (name.empty() ? "" : " (" + name + ")"),
                     "list it once, with all its devices");
  }
}

void CheckAddresses(const Evidence& evidence, IssueList& issues) {
  const auto machines = MachinesOf(evidence);
  std::map<std::string, uint32_t> owners;
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::NodeInfo& facts = FactsOf(evidence, node);
    const v1::NodePlan& plan = PlanOf(evidence, node);
    issues.Checked(v1::CHECK_ADDRESS, node);
    if (plan.ask_data_address() && evidence.nodes.size() > 1) {
      CheckReported(evidence, machines, node, owners, issues);
    }
    if (facts.interfaces().empty()) continue;
    if (!plan.ask_data_address() && !HasDataAddress(plan, facts)) {
      issues.Bad(
          v1::CHECK_ADDRESS, node,
          "no interface of this node has the address " + plan.data_address() +
              ", which the other ranks use; it has " + Interfaces(facts),
          base::ForUser(plan.own_data_address()
                            ? "[spec|correct or remove data_address of this node in the spec]"
                            : "[spec|correct the address in the spec, or set data_address there]"
                              "[hosts|correct the node's address]"));
    }
    if (!plan.interface().empty() &&
        std::ranges::none_of(facts.interfaces(), [&](const v1::InterfaceFact& interface) {
          return interface.name() == plan.interface();
        })) {
      issues.Bad(
          v1::CHECK_ADDRESS, node,
          "there is no interface " + plan.interface() + "; this node has " + Interfaces(facts),
          "correct `interface` in the spec");
    }
  }
}

void CheckRankNetworks(const Evidence& evidence, IssueList& issues) {
  if (evidence.nodes.size() < 2) return;
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::NodeInfo& facts = FactsOf(evidence, node);
    const v1::NodePlan& plan = PlanOf(evidence, node);
    for (const v1::RankNetwork& network : facts.rank_networks()) {
      const std::string given = network.variable() + "=" + network.value();
      const auto address = base::IpAddress::Parse(network.address());
      if (!IsUsed(network, plan)) continue;
      if (network.interface().empty()) {
        // A missing interface of the spec was reported already.
        if (!plan.interface().empty() && network.value().ends_with(plan.interface())) continue;
        issues.Bad(v1::CHECK_ADDRESS, node,
                   given + " names no interface of this node, which has " + InterfaceNames(facts),
                   "correct or remove " + network.variable() + " where it is set");
      } else if (address && address->IsLoopback()) {
        const bool of_spec = !plan.interface().empty();
        issues.Bad(v1::CHECK_ADDRESS, node,
                   "with " + given + " ranks that use " + network.library() + " give " +
                       network.address() + " (" + network.interface() +
                       ") to the ranks of other nodes, which cannot reach it",
                   (of_spec ? "set `interface` in the spec to the one that leads to the others"
                            : "correct or remove " + network.variable() + " where it is set") +
                       "; this node has " + InterfaceNames(facts));
        if (of_spec) break;  // other libraries have the same issue
      }
    }
  }
}

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
