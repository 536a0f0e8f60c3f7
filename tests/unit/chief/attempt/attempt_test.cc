#include "chief/attempt/attempt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/plans.h"

namespace autodist::chief {
namespace {

TEST(AttemptTest, WhatServesTheRanksIsNoneOfThem) {
  v1::LaunchPlan plan = test::ThreeNodePlan();
  v1::RankPlan& scheduler = *plan.mutable_nodes(1)->add_ranks();
  scheduler.set_rank(plan.world_size());
  scheduler.set_auxiliary(true);
  plan.set_pmix(true);
  const Attempt attempt(0, plan, {0, 1, 2}, "/logs", 15, std::chrono::seconds(1),
                        [](uint32_t, const v1::ChiefMessage&) {});
  EXPECT_EQ(attempt.processes(), 6u);
  EXPECT_THAT(attempt.pmix()->nodes(1).ranks(), testing::ElementsAre(2, 3));
}

}  // namespace
}  // namespace autodist::chief
