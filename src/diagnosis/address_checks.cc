// Checks the identity of the nodes' machines, and the addresses of their ranks.
#include <absl/strings/str_join.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/ip_address.h"
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

// "a, b and c".
std::string Listed(const Evidence& evidence, const std::set<uint32_t>& nodes) {
  std::string text;
  size_t left = nodes.size();
  for (const uint32_t node : nodes) {
    --left;
    text += (text.empty() ? "" : left == 0 ? " and " : ", ") + NameOf(evidence, node);
  }
  return text;
}

// Checks the address that the node reports for its ranks; `owners` has those of other nodes.
void CheckReported(const Evidence& evidence, const std::vector<uint32_t>& machines, uint32_t node,
                   std::map<std::string, uint32_t>& owners, IssueList& issues) {
  const std::string& reported = evidence.nodes[node].prepared.data_address();
  const auto address = base::IpAddress::Parse(reported);
  if (!address) {
    issues.Bad(v1::CHECK_ADDRESS, node, "it does not report its address between ranks",
               "give it as data_address in the spec");
    return;
  }
  const auto [owner, is_new] = owners.emplace(address->ToString(), node);
  if (is_new || machines[owner->second] == machines[node]) return;
  issues.AddForAll(v1::CHECK_ADDRESS, v1::CHECK_RESULT_BAD, {owner->second, node},
                   NameOf(evidence, owner->second) + " and " + NameOf(evidence, node) +
                       " both report " + address->ToString() + " as their address between ranks",
                   "give each node's own as data_address in the spec, or the network as interface");
}

// Whether the node's ranks use the library between nodes.
bool IsUsed(const v1::RankNetwork& network, const v1::NodePlan& node) {
  return network.library() != "NCCL" || HasGpus(node);
}

}  // namespace

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
    issues.AddForAll(
        v1::CHECK_NAME, v1::CHECK_RESULT_BAD, nodes,
        Listed(evidence, nodes) + " are the same machine" + (name.empty() ? "" : " (" + name + ")"),
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
      issues.Bad(v1::CHECK_ADDRESS, node,
                 "no interface of this node has the address " + plan.data_address() +
                     ", which the other ranks use; it has " + Interfaces(facts),
                 "correct the address in the spec, or set data_address");
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

}  // namespace autodist::diagnosis
