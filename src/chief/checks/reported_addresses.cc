#include "chief/checks/reported_addresses.h"

#include <algorithm>

#include "base/ip_address.h"
#include "diagnosis/diagnose.h"

namespace autodist::chief {

DataAddresses ReportedAddresses(const v1::LaunchPlan& plan,
                                const std::vector<launch::LaunchedNode>& nodes) {
  DataAddresses reported;
  for (const launch::LaunchedNode& node : nodes) {
    const v1::NodePlan& planned = plan.nodes(static_cast<int>(node.node_rank));
    const auto address = base::IpAddress::Parse(node.prepared.data_address());
    if (planned.ask_data_address() && address) reported[planned.address()] = address->ToString();
  }
  return reported;
}

Status CheckReportedAddresses(const v1::LaunchPlan& plan, const DataAddresses& reported,
                              const std::set<uint32_t>& without) {
  std::map<std::string, std::string> owners;
  for (const v1::NodePlan& node : plan.nodes()) {
    if (!node.ask_data_address() || without.contains(node.node_rank())) continue;
    const auto own = reported.find(node.address());
    if (own == reported.end()) {
      return WithRemedy(Error(StatusCode::kFailedPrecondition,
                              node.address() + " does not report its address between ranks"),
                        diagnosis::HintOfNoDataAddress());
    }
    const auto [owner, is_new] = owners.emplace(own->second, node.address());
    if (is_new) continue;
    return WithRemedy(Error(StatusCode::kFailedPrecondition,
                            owner->second + " and " + node.address() + " both report " +
                                own->second + " as their address between ranks"),
                      diagnosis::HintOfSameDataAddress());
  }
  return OkStatus();
}

bool Differ(const v1::LaunchPlan& plan, const DataAddresses& reported) {
  return std::ranges::any_of(plan.nodes(), [&](const v1::NodePlan& node) {
    const auto own = reported.find(node.address());
    return own != reported.end() && own->second != node.data_address();
  });
}

}  // namespace autodist::chief
