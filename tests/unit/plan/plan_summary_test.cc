#include "plan/plan_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/example_plan.h"

namespace autodist::plan {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

v1::LaunchPlan PlanOf(int nodes) {
  v1::LaunchPlan plan;
  plan.set_job_id("job-1");
  plan.set_working_directory("/work");
  plan.set_world_size(static_cast<uint32_t>(2 * nodes));
  for (int i = 0; i < nodes; ++i) {
    v1::NodePlan& node = *plan.add_nodes();
    node.set_address("gpu" + std::to_string(i));
    node.set_data_address(node.address());
    node.mutable_reach()->mutable_local();
    for (uint32_t k = 0; k < 2; ++k) {
      v1::RankPlan& rank = *node.add_ranks();
      rank.set_rank(static_cast<uint32_t>(2 * i) + k);
      rank.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
      rank.mutable_device()->set_index(3 * k);
      rank.add_argv("./train");
      rank.add_argv("two words");
    }
  }
  return plan;
}

TEST(PlanSummaryTest, ATableOfNodesAndTheProgram) {
  EXPECT_EQ(PlanSummary(PlanOf(2)),
            "job job-1: 4 ranks on 2 nodes, in /work\n"
            "\n"
            "NODE  RANKS  DEVICES  REACHED BY\n"
            "gpu0  0-1    gpu 0,3  this machine, without SSH\n"
            "gpu1  2-3    gpu 0,3  this machine, without SSH\n"
            "\n"
            "each rank runs: ./train 'two words'\n"
            "nothing was started; --verbose also shows the environment of nodes and ranks\n");
}

TEST(PlanSummaryTest, OfManyNodesSomeAreShown) {
  const std::string text = PlanSummary(PlanOf(100));
  EXPECT_THAT(text, ContainsRegex("\ngpu5 +10-11 "));
  EXPECT_THAT(text, HasSubstr("\n… 93 more nodes\ngpu99 "));
  EXPECT_THAT(text, Not(HasSubstr("gpu6 ")));
  EXPECT_LE(std::ranges::count(text, '\n'), 14);
}

TEST(PlanSummaryTest, OtherArguments) {
  v1::LaunchPlan plan = PlanOf(1);
  plan.mutable_nodes(0)->mutable_ranks(1)->add_argv("--extra");
  EXPECT_THAT(PlanSummary(plan),
              HasSubstr("rank 0 runs: ./train 'two words'\nothers have other arguments\n"));
}

}  // namespace
}  // namespace autodist::plan
