#include "why/ruled_out.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "issues/issue.h"
#include "snapshot/lookup.h"

namespace autodist::why {

void AddRuledOut(const v1::JobSnapshot& now, v1::Issue& ruled_out) {
  const std::vector<int> nodes = snapshot::SampledNodes(now);
  if (nodes.empty()) return;
  const std::string number = base::Count(nodes.size(), "node");
  const auto all_have = [&](auto has) {
    return std::ranges::all_of(nodes, [&](int node) { return has(now.nodes(node).sample()); });
  };
  const auto rule_out = [&](const std::string& what, const std::string& source) {
    issues::AddEvidence(ruled_out, what, "not on any of " + number, source, true);
  };
  if (all_have([](const v1::NodeSample& one) { return one.host().has_disk_free(); })) {
    rule_out("a full disk", "agent");
  }
  if (all_have([](const v1::NodeSample& one) { return one.host().has_memory_pressure(); })) {
    rule_out("memory pressure", "/proc/pressure");
  }
  if (all_have([](const v1::NodeSample& one) { return one.gpus_size() > 0; })) {
    rule_out("a throttled GPU", "nvidia-smi");
  }
}

}  // namespace autodist::why
