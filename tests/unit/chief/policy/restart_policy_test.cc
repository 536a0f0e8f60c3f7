#include "chief/policy/restart_policy.h"

#include <gtest/gtest.h>

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = Cause::Kind;

AttemptOutcome Outcome(Kind kind, milliseconds lasted = seconds(1)) {
  AttemptOutcome outcome;
  outcome.cause.kind = kind;
  outcome.ran = true;
  outcome.lasted = lasted;
  return outcome;
}

TEST(RestartPolicyTest, AFailureIsRetriedUpToTheLimit) {
  RestartPolicy policy({.max_restarts = 2});
  EXPECT_TRUE(policy.Next(Outcome(Kind::kRankFailed)));
  EXPECT_TRUE(policy.Next(Outcome(Kind::kHung)));
  EXPECT_FALSE(policy.Next(Outcome(Kind::kNodeLost)));
  EXPECT_EQ(policy.restarts_counted(), 2u);
}

TEST(RestartPolicyTest, ByDefaultNothingIsRetried) {
  EXPECT_FALSE(RestartPolicy({}).Next(Outcome(Kind::kRankFailed)));
}

TEST(RestartPolicyTest, FailuresThatARestartCannotFixAreFinal) {
  RestartPolicy policy({.max_restarts = 9});
  EXPECT_FALSE(policy.Next(Outcome(Kind::kInterrupted)));
  EXPECT_FALSE(policy.Next(Outcome(Kind::kTimedOut)));
  AttemptOutcome never_ran = Outcome(Kind::kRankFailed);
  never_ran.ran = false;
  EXPECT_FALSE(policy.Next(never_ran));
  EXPECT_EQ(policy.restarts_counted(), 0u);
}

TEST(RestartPolicyTest, TheWaitDoublesUpToALimitAndStartsOverAfterALongRun) {
  RestartPolicy policy({.max_restarts = 100});
  milliseconds wait = RestartPolicy::kFirstWait;
  for (int i = 0; i < 7; ++i, wait *= 2) EXPECT_EQ(policy.Next(Outcome(Kind::kRankFailed)), wait);
  EXPECT_EQ(policy.Next(Outcome(Kind::kRankFailed)), RestartPolicy::kMaxWait);
  EXPECT_EQ(policy.Next(Outcome(Kind::kRankFailed, RestartPolicy::kCrashLoop)),
            RestartPolicy::kMaxWait);
  EXPECT_EQ(policy.Next(Outcome(Kind::kRankFailed, RestartPolicy::kCrashLoop + milliseconds(1))),
            RestartPolicy::kFirstWait);
  EXPECT_EQ(policy.Next(Outcome(Kind::kRankFailed)), RestartPolicy::kFirstWait * 2);
}

TEST(RestartPolicyTest, LossesOfSpareNodesDoNotCount) {
  RestartPolicy policy({.max_restarts = 1, .min_nodes = 2});
  AttemptOutcome lost = Outcome(Kind::kNodeLost);
  lost.nodes_missing = true;
  lost.nodes_present = 2;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(policy.Next(lost));
  EXPECT_EQ(policy.restarts_counted(), 0u);
  EXPECT_TRUE(policy.Next(Outcome(Kind::kRankFailed)));  // with all nodes: it counts
  EXPECT_EQ(policy.restarts_counted(), 1u);
  lost.nodes_present = 1;
  EXPECT_FALSE(policy.Next(lost));
}

}  // namespace
}  // namespace autodist::chief
