#include "chief/policy/stop_policy.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <vector>

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Action = StopPolicy::Action;

constexpr seconds kStopLease{60};

StopPolicy::Time At(milliseconds time) { return StopPolicy::Time(std::chrono::hours(1) + time); }

TEST(StopPolicyTest, EachInterruptEscalates) {
  StopPolicy policy(seconds(30), kStopLease, false);
  EXPECT_FALSE(policy.requested());
  EXPECT_EQ(policy.Interrupted(SIGINT, At(seconds(0))), Action::kStop);
  EXPECT_TRUE(policy.requested());
  EXPECT_EQ(policy.Interrupted(SIGTERM, At(seconds(1))), Action::kKill);
  EXPECT_FALSE(policy.given_up());
  EXPECT_EQ(policy.Interrupted(SIGINT, At(seconds(4))), Action::kGiveUp);
  EXPECT_TRUE(policy.given_up());
  EXPECT_EQ(policy.signal(), SIGINT);
}

TEST(StopPolicyTest, SignalsRightAfterTheKillingOneCountAsOne) {
  StopPolicy policy(seconds(30), kStopLease, false);
  policy.Interrupted(SIGINT, At(seconds(0)));
  EXPECT_EQ(policy.Interrupted(SIGINT, At(milliseconds(1005))), Action::kKill);
  EXPECT_EQ(policy.Interrupted(SIGINT, At(milliseconds(1006))), Action::kNone);
  EXPECT_EQ(policy.Interrupted(SIGINT, At(milliseconds(3004))), Action::kNone);
  EXPECT_EQ(policy.Interrupted(SIGINT, At(milliseconds(3005))), Action::kGiveUp);
}

TEST(StopPolicyTest, SignalsWithinASecondAreOneRequest) {
  const std::vector<std::vector<int>> requests = {
      {SIGHUP, SIGHUP},             // a closed window: the kernel, then the shell
      {SIGTERM, SIGHUP, SIGTERM},   // the end of a login session
      {SIGINT, SIGINT},             // Ctrl-C, and a wrapper that forwards it
      {SIGTERM, SIGTERM, SIGTERM},  // a scheduler, to the process group and to its leader
  };
  for (const std::vector<int>& signals : requests) {
    StopPolicy policy(seconds(30), kStopLease, false);
    policy.AttemptBegins();
    EXPECT_EQ(policy.Interrupted(signals[0], At(seconds(0))), Action::kStop);
    for (size_t i = 1; i < signals.size(); ++i) {
      EXPECT_EQ(policy.Interrupted(signals[i], At(milliseconds(300 * i))), Action::kNone);
    }
    EXPECT_EQ(policy.signal(), signals[0]);
    EXPECT_EQ(policy.Interrupted(SIGINT, At(milliseconds(1'000))), Action::kKill);
  }
}

TEST(StopPolicyTest, EachRequestOfACommandCounts) {
  StopPolicy policy(seconds(30), kStopLease, false);
  policy.AttemptBegins();
  EXPECT_EQ(policy.Interrupted(SIGTERM, At(seconds(0)), true), Action::kStop);
  EXPECT_EQ(policy.Interrupted(SIGTERM, At(milliseconds(1)), true), Action::kKill);
}

TEST(StopPolicyTest, AFirstSignalAfterAFailureIsNotMultipliedEither) {
  StopPolicy policy(seconds(30), kStopLease, true);
  policy.AttemptBegins();
  policy.AttemptEnds();
  EXPECT_EQ(policy.Interrupted(SIGINT, At(seconds(0))), Action::kNone);
  EXPECT_EQ(policy.Interrupted(SIGINT, At(milliseconds(10))), Action::kNone);
}

TEST(StopPolicyTest, AClosedWindowNeverKills) {
  StopPolicy failed(seconds(30), kStopLease, false);
  failed.AttemptBegins();
  failed.AttemptEnds();
  EXPECT_EQ(failed.Interrupted(SIGHUP, At(seconds(0))), Action::kNone);
  StopPolicy asked(seconds(30), kStopLease, false);
  asked.AttemptBegins();
  EXPECT_EQ(asked.Interrupted(SIGINT, At(seconds(0))), Action::kStop);
  EXPECT_EQ(asked.Interrupted(SIGHUP, At(seconds(5))), Action::kNone);
  EXPECT_EQ(asked.signal(), SIGINT);
  EXPECT_EQ(asked.Interrupted(SIGINT, At(seconds(6))), Action::kKill);
}

TEST(StopPolicyTest, AnEndingAttemptIsKilledByTheFirst) {
  StopPolicy policy(seconds(30), kStopLease, false);
  policy.AttemptEnds();
  EXPECT_FALSE(policy.requested());
  EXPECT_EQ(policy.Interrupted(SIGINT, At(seconds(0))), Action::kKill);
}

TEST(StopPolicyTest, AnEndingAttemptIsNotKilledByAFirstSigterm) {
  StopPolicy policy(seconds(30), kStopLease, false);
  policy.AttemptBegins();
  policy.AttemptEnds();
  EXPECT_EQ(policy.Interrupted(SIGTERM, At(seconds(0))), Action::kNone);
  EXPECT_EQ(policy.Interrupted(SIGTERM, At(seconds(1))), Action::kKill);
}

TEST(StopPolicyTest, TheFirstPreventsTheRestartOfAFailedAttempt) {
  StopPolicy policy(seconds(30), kStopLease, true);
  policy.AttemptBegins();
  policy.AttemptEnds();
  EXPECT_EQ(policy.Interrupted(SIGINT, At(seconds(0))), Action::kNone);
  EXPECT_TRUE(policy.requested());
  EXPECT_EQ(policy.Interrupted(SIGINT, At(seconds(1))), Action::kKill);
}

TEST(StopPolicyTest, AFailingLaunchIsKilledByTheFirst) {
  StopPolicy policy(seconds(30), kStopLease, true);
  policy.AttemptEnds();
  EXPECT_EQ(policy.Interrupted(SIGINT, At(seconds(0))), Action::kKill);
}

TEST(StopPolicyTest, ANewAttemptIsStoppedAgain) {
  StopPolicy policy(seconds(30), kStopLease, true);
  policy.AttemptEnds();
  policy.AttemptBegins();
  EXPECT_EQ(policy.Interrupted(SIGINT, At(seconds(0))), Action::kStop);
}

TEST(StopPolicyTest, ATimeoutStopsOnceAndPreventsRestarts) {
  StopPolicy policy(seconds(30), kStopLease, true);
  EXPECT_EQ(policy.TimedOut(), Action::kStop);
  EXPECT_TRUE(policy.requested());
  EXPECT_EQ(policy.TimedOut(), Action::kNone);
}

TEST(StopPolicyTest, TheEndMayTakeTheGracePeriodAndSomeMore) {
  StopPolicy policy(seconds(30), kStopLease, false);
  EXPECT_EQ(policy.end_limit(), StopPolicy::Time::max());
  policy.BeginEnd(At(seconds(0)), false);
  EXPECT_FALSE(policy.EndIsOverdue(At(milliseconds(39'999)), {}));
  EXPECT_TRUE(policy.EndIsOverdue(At(seconds(40)), {}));
  policy.GraceIsOver();
  policy.BeginEnd(At(seconds(40)), false);
  EXPECT_EQ(policy.end_limit(), At(seconds(50)));
}

TEST(StopPolicyTest, ArrivingOrQueuedOutputPostponesTheDeadline) {
  StopPolicy policy(seconds(1), kStopLease, false);
  policy.BeginEnd(At(seconds(0)), false);
  EXPECT_FALSE(policy.EndIsOverdue(At(seconds(11)), {false, 100, false}));
  EXPECT_TRUE(policy.EndIsOverdue(At(seconds(21)), {false, 100, false}));
  EXPECT_FALSE(policy.EndIsOverdue(At(seconds(21)), {true, 100, false}));
  EXPECT_EQ(policy.end_limit(), At(seconds(31)));
}

TEST(StopPolicyTest, ANodeThatHasNotReceivedTheEndHasItsWholeTime) {
  StopPolicy policy(seconds(5), kStopLease, false);
  policy.BeginEnd(At(seconds(0)), false);
  EXPECT_FALSE(policy.EndIsOverdue(At(seconds(15)), {false, 0, true}));
  EXPECT_EQ(policy.end_limit(), At(seconds(30)));
}

TEST(StopPolicyTest, ANodeThatReconnectsRepeatedlyPostponesTheDeadlineByAtMostALease) {
  StopPolicy policy(seconds(5), kStopLease, false);
  policy.BeginEnd(At(seconds(0)), false);
  for (int second = 1; second < 75; ++second) {
    EXPECT_FALSE(policy.EndIsOverdue(At(seconds(second)), {false, 0, true})) << second;
  }
  EXPECT_TRUE(policy.EndIsOverdue(At(seconds(75)), {false, 0, true}));
}

TEST(StopPolicyTest, AStoppedJobEndsInTimeForAllNodeFaults) {
  StopPolicy policy(seconds(5), kStopLease, false);
  policy.Interrupted(SIGINT, At(seconds(0)));
  policy.BeginEnd(At(seconds(0)), false);
  bool overdue = false;
  milliseconds time{0};
  for (; !overdue; time += milliseconds(500)) {  // floods, and reconnects
    overdue = policy.EndIsOverdue(At(time), {true, static_cast<uint64_t>(time.count()), true});
  }
  EXPECT_LT(time, seconds(5) + StopPolicy::kEndLimit - StopPolicy::kLeaveTime);
  policy.GraceIsOver();
  policy.BeginEnd(At(time), true);
  EXPECT_FALSE(policy.EndIsOverdue(At(time), {false, 0, true}));
  EXPECT_TRUE(policy.EndIsOverdue(At(seconds(14)), {false, 0, true}));
}

TEST(StopPolicyTest, ASecondSignalLeavesNoGracePeriod) {
  StopPolicy policy(seconds(300), kStopLease, false);
  policy.Interrupted(SIGINT, At(seconds(0)));
  EXPECT_GT(policy.must_end(), At(seconds(300)));
  policy.Interrupted(SIGINT, At(seconds(5)));
  EXPECT_LE(policy.must_end(), At(seconds(15)));
}

TEST(StopPolicyTest, MessagesNameOneLimitOfAWait) {
  StopPolicy policy(seconds(30), kStopLease, false);
  policy.BeginEnd(At(seconds(0)), false);
  EXPECT_EQ(policy.named_limit(false), policy.end_limit());
  EXPECT_EQ(policy.named_limit(true), policy.end_limit() + kStopLease);
  policy.Interrupted(SIGINT, At(seconds(1)));
  policy.Interrupted(SIGINT, At(seconds(5)));
  for (const bool leave : {false, true}) {
    policy.BeginEnd(At(seconds(6)), leave);
    for (const bool reconnecting : {false, true}) {
      EXPECT_EQ(policy.named_limit(reconnecting), At(seconds(15))) << leave;
    }
    EXPECT_LT(policy.end_limit(), policy.named_limit(false)) << leave;
  }
}

TEST(StopPolicyTest, AStoppedJobWaitsForABlockedTerminalToo) {
  StopPolicy policy(seconds(5), kStopLease, false);
  policy.Interrupted(SIGINT, At(seconds(0)));
  policy.BeginEnd(At(seconds(0)), true);
  for (int second = 0; second < 600; ++second) {
    EXPECT_FALSE(policy.EndIsOverdue(At(seconds(second)), {true, 7, false})) << second;
  }
  EXPECT_FALSE(policy.EndIsOverdue(At(seconds(601)), {false, 8, false}));
  EXPECT_TRUE(policy.EndIsOverdue(At(seconds(610)), {false, 8, false}));
}

}  // namespace
}  // namespace autodist::chief
