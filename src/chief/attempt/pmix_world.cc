#include "chief/attempt/pmix_world.h"

#include "base/random.h"

namespace autodist::chief {

std::optional<v1::PmixWorld> MakePmixWorld(const v1::LaunchPlan& plan) {
  if (!plan.pmix()) return std::nullopt;
  v1::PmixWorld world;
  world.set_name_space("autodist-" + plan.job_id() + "-" + base::RandomHex());
  for (const v1::NodePlan& node : plan.nodes()) {
    v1::PmixNode& named = *world.add_nodes();
    named.set_address(node.address());
    for (const v1::RankPlan& rank : node.ranks()) {
      if (!rank.auxiliary()) named.add_ranks(rank.rank());
    }
  }
  return world;
}

}  // namespace autodist::chief
