#include "chief/attempt/job_state.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "support/plans.h"

namespace autodist::chief {
namespace {

v1::RankExited Exited(uint32_t rank, int code) {
  v1::RankExited exit;
  exit.set_rank(rank);
  exit.set_exit_code(code);
  return exit;
}

v1::RankExited Signaled(uint32_t rank, int signal) {
  v1::RankExited exit;
  exit.set_rank(rank);
  exit.set_signal(signal);
  return exit;
}

auto Ended(const JobState& state, LaterEnd how) {
  return std::ranges::count(state.later_ends(), how, &std::pair<const uint32_t, LaterEnd>::second);
}

// Ranks 0 and 1 on node 0, 2 and 3 on node 1, 4 on node 2.
class JobStateTest : public testing::Test {
 protected:
  JobState state_{test::ThreeNodePlan()};
};

TEST_F(JobStateTest, SucceedsWhenAllRanksDo) {
  for (uint32_t rank = 0; rank < 5; ++rank) {
    EXPECT_FALSE(state_.AllEnded());
    EXPECT_FALSE(state_.RankExited(Exited(rank, 0)));
  }
  EXPECT_TRUE(state_.AllEnded());
  EXPECT_EQ(state_.ExitCode(), 0);
  EXPECT_FALSE(state_.cause());
}

TEST_F(JobStateTest, TheFirstFailureStopsTheRestAndIsTheExitCode) {
  EXPECT_TRUE(state_.RankExited(Exited(3, 7)));
  EXPECT_FALSE(state_.RankExited(Exited(1, 9)));
  EXPECT_FALSE(state_.RankExited(Signaled(0, SIGTERM)));
  v1::RankExited killed = Signaled(2, SIGKILL);
  killed.set_time_ns(30'000'000'000);  // after the grace period
  EXPECT_FALSE(state_.RankExited(killed));
  EXPECT_FALSE(state_.AllEnded());
  v1::RankExited handled = Exited(4, 0);
  handled.set_signalled(SIGTERM);
  EXPECT_FALSE(state_.RankExited(handled));
  EXPECT_TRUE(state_.AllEnded());
  EXPECT_EQ(state_.ExitCode(), 7);
  EXPECT_EQ(state_.cause()->exit.rank(), 3u);
  EXPECT_EQ(state_.cause()->node_rank, 1u);
  EXPECT_EQ(Ended(state_, LaterEnd::kByStopSignal), 1);
  EXPECT_EQ(Ended(state_, LaterEnd::kByKill), 1);
  EXPECT_EQ(Ended(state_, LaterEnd::kAfterStopSignal), 1);
  EXPECT_EQ(Ended(state_, LaterEnd::kBefore), 1);
}

TEST_F(JobStateTest, ASignalThatWasPassedOnDoesNotStopARank) {
  EXPECT_TRUE(state_.RankExited(Exited(3, 7)));
  v1::RankExited later = Exited(0, 0);
  later.set_signalled(SIGUSR1);
  state_.RankExited(later);
  EXPECT_EQ(Ended(state_, LaterEnd::kBefore), 1);
}

// Nor did it fail by itself.
TEST_F(JobStateTest, ARankThatASignalEndedWhichWasPassedOnIsCountedAsSuch) {
  v1::RankExited exit = Signaled(3, SIGUSR1);
  exit.set_signalled(SIGUSR1);
  EXPECT_TRUE(state_.RankExited(exit));
  exit.set_rank(0);
  state_.RankExited(exit);
  state_.RankExited(Signaled(1, SIGUSR1));  // another program sent it
  EXPECT_EQ(Ended(state_, LaterEnd::kByPassedOn), 1);
  EXPECT_EQ(Ended(state_, LaterEnd::kBefore), 1);
  ASSERT_TRUE(state_.failed_too());
  EXPECT_EQ(state_.failed_too()->exit.rank(), 1u);
}

TEST_F(JobStateTest, AKilledRankIsTheCauseOfExitsThatAreReportedEarlier) {
  state_.RankExited(Exited(0, 1));
  v1::RankExited killed = Signaled(3, SIGKILL);
  killed.set_time_ns(900'000'000);  // the agent was busy
  EXPECT_FALSE(state_.RankExited(killed));
  EXPECT_EQ(state_.ExitCode(), 137);
  EXPECT_EQ(state_.cause()->exit.rank(), 3u);
  EXPECT_EQ(Ended(state_, LaterEnd::kBefore), 1);
}

TEST_F(JobStateTest, AKilledRankStaysTheCauseIfALaterReportedExitWasSlightlyEarlier) {
  v1::RankExited killed = Signaled(3, SIGKILL);
  killed.set_time_ns(1'900'000'000);  // the agent was busy
  EXPECT_TRUE(state_.RankExited(killed));
  v1::RankExited peer = Exited(0, 1);
  peer.set_time_ns(1'000'000'000);
  EXPECT_FALSE(state_.RankExited(peer));
  EXPECT_EQ(state_.ExitCode(), 137);
  EXPECT_EQ(state_.cause()->exit.rank(), 3u);
  EXPECT_EQ(Ended(state_, LaterEnd::kBefore), 1);
}

// Adds rank 5 on node 0 as a service process.
v1::LaunchPlan PlanWithAuxiliary() {
  v1::LaunchPlan plan = test::ThreeNodePlan();
  v1::RankPlan& serving = *plan.mutable_nodes(0)->add_ranks();
  serving.set_rank(5);
  serving.set_auxiliary(true);
  return plan;
}

TEST_F(JobStateTest, ServiceProcessesAreNotAwaited) {
  JobState state(PlanWithAuxiliary());
  for (uint32_t rank = 0; rank < 5; ++rank) state.RankExited(Exited(rank, 0));
  EXPECT_TRUE(state.AllEnded());
  EXPECT_FALSE(state.RankExited(Signaled(5, SIGTERM)));
  EXPECT_FALSE(state.cause());
  EXPECT_EQ(state.ExitCode(), 0);
}

TEST_F(JobStateTest, ServiceProcessesAreNotCountedAsRanks) {
  JobState state(PlanWithAuxiliary());
  EXPECT_EQ(state.running_by_node(), (std::vector<uint32_t>{2, 2, 1}));
  EXPECT_EQ(state.RunningOn(0), 3u);
  state.RankExited(Exited(1, 3));
  state.RankExited(Signaled(5, SIGTERM));
  EXPECT_EQ(Ended(state, LaterEnd::kByStopSignal), 0);
}

TEST_F(JobStateTest, ServiceProcessesMaySucceedButNotFail) {
  JobState well(PlanWithAuxiliary());
  EXPECT_FALSE(well.RankExited(Exited(5, 0)));
  EXPECT_FALSE(well.AllEnded());
  JobState state(PlanWithAuxiliary());
  EXPECT_TRUE(state.RankExited(Exited(5, 3)));
  EXPECT_EQ(state.cause()->exit.rank(), 5u);
  EXPECT_EQ(state.ExitCode(), 3);
}

v1::RankAborted Aborted(uint32_t rank, int status, int64_t time_ns = 0) {
  v1::RankAborted aborted;
  aborted.set_rank(rank);
  aborted.set_status(status);
  aborted.set_time_ns(time_ns);
  return aborted;
}

TEST_F(JobStateTest, AnAbortStopsTheRestAndItsStatusIsTheExitCode) {
  EXPECT_TRUE(state_.RankAborted(Aborted(3, 7)));
  EXPECT_FALSE(state_.RankAborted(Aborted(1, 9)));
  EXPECT_EQ(state_.running(), 5u);  // it has not exited yet
  EXPECT_FALSE(state_.RankExited(Signaled(3, SIGTERM)));
  EXPECT_FALSE(state_.RankExited(Exited(1, 9)));
  EXPECT_EQ(state_.running(), 3u);
  EXPECT_EQ(state_.cause()->exit.rank(), 3u);
  EXPECT_EQ(state_.cause()->node_rank, 1u);
  EXPECT_EQ(state_.ExitCode(), 7);
  EXPECT_EQ(Ended(state_, LaterEnd::kByStopSignal),
            0);  // the aborting rank was not stopped by the signal
  EXPECT_EQ(Ended(state_, LaterEnd::kBefore), 1);
}

TEST_F(JobStateTest, AnAbortIsTheCauseOfExitsThatAreReportedEarlier) {
  v1::RankExited consequence = Exited(0, 1);
  consequence.set_time_ns(200);
  state_.RankExited(consequence);
  EXPECT_FALSE(state_.RankAborted(Aborted(3, 7, 100)));
  EXPECT_EQ(state_.cause()->exit.rank(), 3u);
  EXPECT_EQ(state_.ExitCode(), 7);
  EXPECT_EQ(Ended(state_, LaterEnd::kBefore), 1);
  state_.RankAborted(Aborted(4, 8, 150));
  EXPECT_EQ(state_.ExitCode(), 7);
}

TEST_F(JobStateTest, AKilledRankIsTheCauseOfAnAbort) {
  state_.RankAborted(Aborted(0, 1));
  state_.RankExited(Signaled(3, SIGKILL));
  EXPECT_EQ(state_.ExitCode(), 137);
  state_.RankExited(Exited(0, 1));
  EXPECT_EQ(Ended(state_, LaterEnd::kBefore), 1);
}

TEST_F(JobStateTest, AnAbortIsAFailureForEveryStatus) {
  state_.RankAborted(Aborted(0, 256));
  EXPECT_EQ(state_.ExitCode(), 1);
  EXPECT_EQ(ExitCodeOf(Aborted(0, -1)), 255);
}

TEST_F(JobStateTest, TheExitCodeOfASignalIs128PlusItsNumber) {
  state_.RankExited(Signaled(0, SIGSEGV));
  EXPECT_EQ(state_.ExitCode(), 139);
}

TEST_F(JobStateTest, AfterTheLastRankNoneIsLeftToStop) {
  for (uint32_t rank = 0; rank < 4; ++rank) state_.RankExited(Exited(rank, 0));
  EXPECT_FALSE(state_.RankExited(Exited(4, 3)));
  EXPECT_TRUE(state_.AllEnded());
  EXPECT_EQ(state_.ExitCode(), 3);
}

TEST_F(JobStateTest, ALostNodeEndsTheJobWith125) {
  EXPECT_TRUE(state_.NodeLost(1, Error(StatusCode::kUnavailable, "link")));
  for (const uint32_t rank : {0u, 1u, 4u}) state_.RankExited(Signaled(rank, SIGTERM));
  EXPECT_TRUE(state_.AllEnded());
  EXPECT_EQ(state_.ExitCode(), 125);
}

// An agent whose watchdog is killed kills its ranks, and then ends.
TEST_F(JobStateTest, TheLossOfANodeIsTheCauseIfItsAgentKilledARank) {
  const Status why = Error(StatusCode::kUnavailable, "its agent's watchdog was killed");
  for (const int signalled : {0, SIGKILL}) {
    for (const uint32_t rank : {3u, 4u}) {  // of two ranks and of one
      JobState state(test::ThreeNodePlan());
      const uint32_t node = rank == 3 ? 1 : 2;
      v1::RankExited exit = Signaled(rank, SIGKILL);
      exit.set_signalled(signalled);
      EXPECT_TRUE(state.RankExited(exit));
      EXPECT_FALSE(state.NodeLost(0, why));
      EXPECT_EQ(state.cause()->kind, Cause::Kind::kRankFailed);
      EXPECT_FALSE(state.NodeLost(node, why));
      const bool is_cause = signalled == SIGKILL;
      EXPECT_EQ(state.cause()->kind, is_cause ? Cause::Kind::kNodeLost : Cause::Kind::kRankFailed);
      EXPECT_EQ(state.cause()->node_rank, node);
      EXPECT_EQ(state.ExitCode(), is_cause ? 125 : 137);
      EXPECT_EQ(state.RunningOn(node), 0u);
    }
  }
}

TEST_F(JobStateTest, ANodeWithEndedRanksMayLeave) {
  state_.RankExited(Exited(4, 0));
  EXPECT_FALSE(state_.NodeEvicted(2, Error(StatusCode::kAborted, "evicted")));
  EXPECT_FALSE(state_.cause());
  EXPECT_FALSE(state_.NodeLost(2, Error(StatusCode::kUnavailable, "link")));
  EXPECT_FALSE(state_.cause());
}

TEST_F(JobStateTest, AnEvictedNodeIsTheCauseHoweverItsRanksEnd) {
  EXPECT_TRUE(state_.NodeEvicted(1, Error(StatusCode::kAborted, "evicted")));
  EXPECT_FALSE(state_.NodeEvicted(2, Error(StatusCode::kAborted, "evicted, too")));
  for (uint32_t rank = 0; rank < 5; ++rank) EXPECT_FALSE(state_.RankExited(Exited(rank, 0)));
  EXPECT_TRUE(state_.AllEnded());
  EXPECT_EQ(state_.cause()->kind, Cause::Kind::kNodeLost);
  EXPECT_EQ(state_.cause()->node_rank, 1u);
  EXPECT_EQ(state_.ExitCode(), 125);
}

TEST_F(JobStateTest, AnEvictionFollowedByASignalEndsTheJob) {
  EXPECT_TRUE(state_.NodeEvicted(1, Error(StatusCode::kAborted, "deleted")));
  EXPECT_FALSE(state_.Interrupted(SIGTERM));
  EXPECT_EQ(state_.ExitCode(), 143);
  EXPECT_FALSE(state_.Interrupted(SIGINT));
  EXPECT_EQ(state_.ExitCode(), 143);
}

TEST_F(JobStateTest, AnInterruptIsTheCauseOnlyOfTheFirstStop) {
  EXPECT_TRUE(state_.Interrupted(SIGINT));
  EXPECT_FALSE(state_.Interrupted(SIGTERM));
  EXPECT_EQ(state_.ExitCode(), 130);
}

TEST_F(JobStateTest, AnInterruptAfterAFailureDoesNotHideIt) {
  state_.RankExited(Exited(0, 7));
  EXPECT_FALSE(state_.Interrupted(SIGINT));
  EXPECT_EQ(state_.ExitCode(), 7);
}

TEST_F(JobStateTest, TheEarliestFailureIsTheCauseInAnyOrderOfReports) {
  const auto at = [](v1::RankExited exit, int64_t time) {
    exit.set_time_ns(time);
    return exit;
  };
  EXPECT_TRUE(state_.RankExited(at(Exited(3, 7), 200)));
  EXPECT_FALSE(state_.RankExited(at(Signaled(0, SIGSEGV), 100)));
  EXPECT_EQ(state_.cause()->exit.rank(), 0u);
  EXPECT_EQ(state_.cause()->node_rank, 0u);
  EXPECT_EQ(state_.ExitCode(), 139);
  EXPECT_EQ(Ended(state_, LaterEnd::kBefore), 1);  // rank 3
  state_.RankExited(at(Exited(1, 0), 50));         // no failure
  state_.RankExited(at(Exited(2, 9), 150));
  EXPECT_EQ(state_.cause()->exit.rank(), 0u);
  EXPECT_EQ(Ended(state_, LaterEnd::kBefore), 3);
}

TEST_F(JobStateTest, AnEarlierFailureDoesNotHideAnotherCause) {
  state_.Interrupted(SIGTERM);
  state_.RankExited(Exited(0, 7));
  EXPECT_EQ(state_.ExitCode(), 143);
}

TEST_F(JobStateTest, ATimeoutStopsTheJobWith124) {
  EXPECT_TRUE(state_.TimedOut());
  EXPECT_FALSE(state_.TimedOut());
  EXPECT_EQ(state_.cause()->kind, Cause::Kind::kTimedOut);
  EXPECT_EQ(state_.ExitCode(), 124);
}

TEST_F(JobStateTest, AHungJobIsStoppedWith124) {
  EXPECT_TRUE(state_.Hung());
  EXPECT_FALSE(state_.RankExited(Exited(0, 7)));
  EXPECT_EQ(state_.cause()->kind, Cause::Kind::kHung);
  EXPECT_EQ(state_.ExitCode(), 124);
}

TEST_F(JobStateTest, RanksAreCountedPerNode) {
  EXPECT_EQ(state_.running(), 5u);
  EXPECT_EQ(state_.RunningOn(0), 2u);
  state_.RankExited(Exited(1, 0));
  state_.NodeLost(1, Error(StatusCode::kUnavailable, "link"));
  EXPECT_EQ(state_.RunningOn(0), 1u);
  EXPECT_EQ(state_.RunningOn(1), 0u);
  EXPECT_EQ(state_.running(), 2u);
}

TEST_F(JobStateTest, TheStopSignalIsConfigurable) {
  JobState state(test::ThreeNodePlan(), SIGUSR1);
  state.RankExited(Exited(0, 7));
  state.RankExited(Signaled(1, SIGUSR1));
  state.RankExited(Signaled(2, SIGTERM));
  EXPECT_EQ(Ended(state, LaterEnd::kByStopSignal), 1);
  EXPECT_EQ(Ended(state, LaterEnd::kBefore), 1);
}

TEST_F(JobStateTest, ADuplicateReportCountsOnce) {
  state_.RankExited(Exited(0, 0));
  state_.RankExited(Exited(0, 7));
  EXPECT_FALSE(state_.cause());
}

}  // namespace
}  // namespace autodist::chief
