// Whether the nodes reach each other.
#include <map>
#include <utility>

#include "base/quantity.h"
#include "diagnosis/findings.h"

namespace autodist::diagnosis {
namespace {

using Pair = std::pair<uint32_t, uint32_t>;  // from, to

constexpr size_t kMostPairsNamed = 3;
constexpr char kRemedy[] =
    "let TCP pass between the two in both directions, on all ports: ranks choose theirs freely";
constexpr char kRemedyForAll[] =
    "let TCP pass between all nodes in both directions, on all ports: ranks choose theirs freely";

// "rendezvous port 29500: timed out", of each pair that does not reach each other.
std::map<Pair, std::string> FailedPairs(const Evidence& evidence) {
  std::map<Pair, std::string> failed;
  std::map<Pair, std::string> error_of;  // the first of a pair
  for (const PortTrial& trial : evidence.trials) {
    const std::string& error = trial.outcome.error();
    if (error.empty()) continue;
    const Pair pair(trial.from, trial.to);
    const std::string port = trial.rendezvous ? "rendezvous port " + std::to_string(trial.port)
                                              : "a port chosen at random";
    const auto [first, is_new] = error_of.emplace(pair, error);
    if (is_new) {
      failed[pair] = port + ": " + error;
    } else {
      failed[pair] = first->second == error ? "whatever the port: " + error
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

// The node that is in all of them, where there is one.
std::set<uint32_t> CommonNode(const std::vector<Pair>& pairs) {
  std::set<uint32_t> common = {pairs[0].first, pairs[0].second};
  for (const auto& [from, to] : pairs) {
    std::erase_if(common,
                  [&, from = from, to = to](uint32_t node) { return node != from && node != to; });
  }
  return common;
}

void AddPairs(const Evidence& evidence, const std::vector<Pair>& pairs, size_t tried,
              const std::string& how, Findings& findings) {
  if (pairs.size() <= kMostPairsNamed) {
    for (const auto& [from, to] : pairs) {
      findings.AddForAll(
          v1::CHECK_NETWORK, v1::VERDICT_BAD, {from, to},
          NameOf(evidence, from) + " cannot connect to " + NameOf(evidence, to) + ", " + how,
          kRemedy);
    }
    return;
  }
  const std::string count = base::Thousands(pairs.size()) + " of " + base::Thousands(tried) +
                            " pairs of nodes do not reach each other";
  const std::set<uint32_t> common = CommonNode(pairs);
  const bool one = common.size() == 1;
  findings.AddForAll(
      v1::CHECK_NETWORK, v1::VERDICT_BAD, one ? common : NodesOf(pairs),
      count + (one ? ", all those with " + NameOf(evidence, *common.begin()) : "") + ", " + how,
      kRemedyForAll);
}

}  // namespace

void CheckNetwork(const Evidence& evidence, Findings& findings) {
  for (uint32_t node = 0; node < evidence.port_problems.size(); ++node) {
    if (evidence.port_problems[node].empty()) continue;
    findings.Bad(v1::CHECK_NETWORK, node, evidence.port_problems[node],
                 "free the port, or choose another one with --master-port");
  }
  std::set<Pair> tried;
  for (const PortTrial& trial : evidence.trials) {
    findings.Checked(v1::CHECK_NETWORK, trial.from);
    findings.Checked(v1::CHECK_NETWORK, trial.to);
    tried.emplace(trial.from, trial.to);
  }
  std::map<std::string, std::vector<Pair>> alike;
  for (const auto& [pair, how] : FailedPairs(evidence)) alike[how].push_back(pair);
  for (const auto& [how, pairs] : alike) AddPairs(evidence, pairs, tried.size(), how, findings);
}

}  // namespace autodist::diagnosis
