#include "chief/attempt/attempt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chief/attempt/job_options.h"
#include "support/plans.h"

namespace autodist::chief {
namespace {

TEST(AttemptTest, ServiceProcessesAreNotRanks) {
  const auto plan = std::make_shared<v1::LaunchPlan>(test::ThreeNodePlan());
  v1::RankPlan& scheduler = *plan->mutable_nodes(1)->add_ranks();
  scheduler.set_rank(plan->world_size());
  scheduler.set_auxiliary(true);
  plan->set_pmix(true);
  const Attempt attempt(0, plan, {0, 1, 2}, "/logs", 15, std::chrono::seconds(1),
                        [](uint32_t, const v1::ChiefMessage&, const SharedValue&) {});
  EXPECT_EQ(attempt.processes(), 6u);
  EXPECT_THAT(attempt.pmix()->nodes(1).ranks(), testing::ElementsAre(2, 3));
}

TEST(AttemptTest, ARepeatedEventIsRecordedOnce) {
  const auto plan = std::make_shared<v1::LaunchPlan>(test::ThreeNodePlan());
  Attempt attempt(0, plan, {0, 1, 2}, "/logs", 15, std::chrono::seconds(1),
                  [](uint32_t, const v1::ChiefMessage&, const SharedValue&) {});
  v1::AgentEvent event;
  event.mutable_rank_aborted()->set_rank(2);
  EXPECT_TRUE(attempt.Take(1, event).to_record);
  EXPECT_FALSE(attempt.Take(1, event).to_record);
  event.mutable_rank_exited()->set_rank(2);
  event.mutable_rank_exited()->set_exit_code(1);
  EXPECT_FALSE(attempt.Take(0, event).to_record);  // another rank
  EXPECT_TRUE(attempt.Take(1, event).to_record);
  EXPECT_FALSE(attempt.Take(1, event).to_record);
}

TEST(HowToCancelTest, ADetachedJobHasNoTerminal) {
  v1::JobRequest request;
  EXPECT_EQ(HowToCancel(request, "job-1"), "Ctrl-C cancels");
  request.set_detach(true);
  EXPECT_EQ(HowToCancel(request, "job-1"), "`autodist stop job-1` cancels");
}

}  // namespace
}  // namespace autodist::chief
