// Jobs on nodes that are played, under a clock that is turned.
#include "chief/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "support/fake_nodes.h"
#include "support/plans.h"
#include "support/temp_folder.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class JobTest : public testing::Test {
 protected:
  static constexpr seconds kLease{60};
  static constexpr seconds kGrace{30};

  JobTest() {
    options_.launch.lease = kLease;
    options_.launch.grace = kGrace;
    options_.log_folder = folder_.path() + "/logs";
    options_.preflight = false;
    options_.plan_attempt = [this](const std::vector<std::string>& addresses, uint32_t attempt) {
      planned_.push_back(addresses);
      plan::Input input = test::ThreeNodeInput();
      input.members = addresses;
      input.restart_count = attempt;
      return plan::MakePlan(input);
    };
    options_.make_launcher = [this](const v1::LaunchPlan&, const launch::LaunchOptions&) {
      return Result<std::unique_ptr<launch::Launcher>>(nodes_.MakeLauncher());
    };
  }

  int Run() {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    int exit_code = 0;
    {
      Job job(plan_, options_, std::move(owned_loop_));
      job_ = &job;
      const Loop::Time before = loop_.Now();
      exit_code = job.Run();
      took_ = std::chrono::duration_cast<milliseconds>(loop_.Now() - before);
      report_ = job.status().report();
    }
    output_ = testing::internal::GetCapturedStdout();
    messages_ = testing::internal::GetCapturedStderr();
    return exit_code;
  }
  void Signal(milliseconds after, int signal = SIGINT) {
    loop_.After(after, [this, signal] { job_->Signal(signal); });
  }
  void AllExit(milliseconds after, int code) {
    loop_.After(after, [this, code] {
      for (uint32_t node = 0; node < nodes_.size(); ++node) nodes_[node].ExitAll(code);
    });
  }
  void ExpectNothingRuns() {
    for (uint32_t node = 0; node < nodes_.size(); ++node) {
      EXPECT_TRUE(nodes_[node].running().empty()) << node;
      EXPECT_TRUE(nodes_[node].gone()) << node;
    }
  }

  const test::TempFolder folder_;
  const v1::LaunchPlan plan_ = test::ThreeNodePlan();
  std::unique_ptr<test::TurnedLoop> owned_loop_ = std::make_unique<test::TurnedLoop>();
  test::TurnedLoop& loop_ = *owned_loop_;
  test::FakeNodes nodes_{loop_, plan_};
  JobOptions options_;
  Job* job_ = nullptr;
  std::vector<std::vector<std::string>> planned_;
  milliseconds took_{};
  std::string report_;
  std::string output_;
  std::string messages_;
};

TEST_F(JobTest, EndsWellWhenAllRanksDo) {
  loop_.After(seconds(1), [this] { nodes_[2].Write(4, "hello\n"); });
  AllExit(seconds(5), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_LT(took_, seconds(6));
  EXPECT_EQ(output_, "[node3:4] hello\n");
  EXPECT_EQ(folder_.Read("logs/rank-4.out"), "hello\n");
  ExpectNothingRuns();
}

TEST_F(JobTest, TheFirstFailureEndsItAndIsReported) {
  loop_.After(seconds(5), [this] { nodes_[1].Exit(3, 7); });
  EXPECT_EQ(Run(), 7);
  EXPECT_LT(took_, seconds(6));
  EXPECT_THAT(report_, HasSubstr("rank 3 on 10.0.0.2"));
  EXPECT_THAT(report_, HasSubstr("4 ended on SIGTERM"));
  ExpectNothingRuns();
}

TEST_F(JobTest, ANodeThatCannotRunItIsReportedAndNothingStarts) {
  nodes_[1].launch_fails = Error(StatusCode::kUnavailable, "connection refused");
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_, HasSubstr("1 of 3 nodes cannot run the job"));
  EXPECT_EQ(std::ranges::count_if(nodes_[0].received, &v1::ChiefMessage::has_start), 0);
}

// Ctrl-C: once, twice, three times, at every phase.

TEST_F(JobTest, CtrlCWhileANodeIsBeingLaunchedEndsTheLaunch) {
  nodes_[1].launch_hangs = true;
  Signal(seconds(2));
  EXPECT_EQ(Run(), 130);
  EXPECT_LT(took_, seconds(3));
  EXPECT_THAT(messages_, HasSubstr("interrupted before anything was started"));
}

TEST_F(JobTest, CtrlCTwiceWhileLaunchingWithASilentAgentKills) {
  nodes_[1].launch_hangs = true;
  loop_.After(seconds(1), [this] { nodes_[0].silent = true; });
  for (const int second : {2, 3}) Signal(seconds(second));
  EXPECT_EQ(Run(), 130);
  EXPECT_LE(took_, seconds(3) + kGrace + StopPolicy::kEndLimit + kLease);
}

TEST_F(JobTest, CtrlCThreeTimesWhileLaunchingWithASilentAgentLeavesAtOnce) {
  nodes_[1].launch_hangs = true;
  loop_.After(milliseconds(500), [this] { nodes_[0].silent = true; });
  for (const int second : {2, 3, 6}) Signal(seconds(second));
  EXPECT_EQ(Run(), 130);
  EXPECT_LE(took_, seconds(7));
}

TEST_F(JobTest, CtrlCAsksRanksToEnd) {
  Signal(seconds(5));
  EXPECT_EQ(Run(), 130);
  EXPECT_LT(took_, seconds(6));
  EXPECT_THAT(report_, HasSubstr("5 ended on SIGTERM"));
  ExpectNothingRuns();
}

TEST_F(JobTest, WhatSentTheSignalIsToldWhereItIsKnown) {
  loop_.After(seconds(5), [this] { job_->Signal(SIGTERM, "`autodist stop`"); });
  EXPECT_EQ(Run(), 143);
  EXPECT_THAT(report_, HasSubstr("stopped by `autodist stop`"));
  EXPECT_THAT(messages_, HasSubstr("`autodist stop`: the ranks have 30 s to end"));
}

TEST_F(JobTest, CtrlCOnceGivesRanksTheirGracePeriod) {
  nodes_[1].ranks_ignore_stop = true;
  Signal(seconds(5));
  EXPECT_EQ(Run(), 130);
  EXPECT_GE(took_, seconds(5) + kGrace);
  EXPECT_LT(took_, seconds(6) + kGrace);
  ExpectNothingRuns();
}

TEST_F(JobTest, CtrlCTwiceKillsAtOnce) {
  nodes_[1].ranks_ignore_stop = true;
  for (const int second : {5, 8}) Signal(seconds(second));
  EXPECT_EQ(Run(), 130);
  EXPECT_LT(took_, seconds(9));
  EXPECT_THAT(report_, HasSubstr("2 needed SIGKILL"));
  ExpectNothingRuns();
}

TEST_F(JobTest, CtrlCThreeTimesWaitsNoLonger) {
  nodes_[1].ranks_ignore_stop = nodes_[1].ranks_cannot_be_killed = true;
  for (const int second : {5, 8, 12}) Signal(seconds(second));
  EXPECT_EQ(Run(), 130);
  EXPECT_LE(took_, seconds(13));
  EXPECT_THAT(messages_, HasSubstr("SIGINT: waiting no longer"));
}

TEST_F(JobTest, CtrlCWhileAFailedJobEndsKills) {
  nodes_[0].ranks_ignore_stop = true;
  loop_.After(seconds(5), [this] { nodes_[1].Exit(3, 7); });
  Signal(seconds(10));
  EXPECT_EQ(Run(), 7);
  EXPECT_LT(took_, seconds(11));
}

TEST_F(JobTest, CtrlCBeforeARestartKeepsTheJobFromStartingAgain) {
  options_.restarts.max_restarts = 3;
  loop_.After(seconds(5), [this] { nodes_[1].Exit(3, 7); });
  Signal(seconds(5) + milliseconds(200));
  EXPECT_EQ(Run(), 7);
  EXPECT_TRUE(planned_.empty());
  EXPECT_THAT(messages_, HasSubstr("SIGINT: the job is not started again"));
  ExpectNothingRuns();
}

TEST_F(JobTest, CtrlCWhileNodesArePreparedForARestartEndsThat) {
  options_.restarts.max_restarts = 3;
  nodes_[1].prepare_hangs = true;
  loop_.After(seconds(5), [this] { nodes_[1].Exit(3, 7); });
  Signal(seconds(8));
  EXPECT_EQ(Run(), 7);
  EXPECT_LT(took_, seconds(9));
  ExpectNothingRuns();
}

TEST_F(JobTest, CtrlCThreeTimesWhileARestartWaitsForASilentNodeLeavesAtOnce) {
  options_.restarts.max_restarts = 3;
  loop_.After(seconds(5), [this] {
    nodes_[1].silent = true;
    nodes_[0].Exit(0, 7);
  });
  for (const int second : {6, 7, 10}) Signal(seconds(second));
  EXPECT_EQ(Run(), 7);
  EXPECT_LE(took_, seconds(11));
}

TEST_F(JobTest, CtrlCWhileANodeIsReconnectingEndsWhatCanBeReached) {
  loop_.After(seconds(5), [this] { nodes_[1].CutLink(); });
  for (const int second : {10, 13, 16}) Signal(seconds(second));
  EXPECT_EQ(Run(), 130);
  EXPECT_LE(took_, seconds(17));
  EXPECT_TRUE(nodes_[0].gone());
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2: the agent does not confirm"));
}

// Once is enough, whatever a node does and whenever that is.

struct Trouble {
  const char* name;
  void (*begin)(test::FakeAgent& node);
};
const Trouble kTroubles[] = {
    {"stopped", [](test::FakeAgent& node) { node.silent = true; }},
    {"cut", [](test::FakeAgent& node) { node.CutLink(); }},
    {"failing",
     [](test::FakeAgent& node) {
       node.fails_at_once = true;
       node.Break();
     }},
    {"failing_later",
     [](test::FakeAgent& node) {
       node.fails_when_resumed = true;
       node.Break();
     }},
    {"undying", [](test::FakeAgent& node) { node.ranks_cannot_be_killed = true; }},
};

class JobTroubleTest : public JobTest,
                       public testing::WithParamInterface<std::tuple<Trouble, int>> {
 protected:
  // A rank of another node fails at 100 s and its attempt is started again.
  void Begin(seconds trouble) {
    options_.launch.lease = seconds(600);
    options_.restarts.max_restarts = 1;
    nodes_[1].ranks_ignore_stop = true;
    loop_.After(trouble, [this] { std::get<0>(GetParam()).begin(nodes_[1]); });
    loop_.After(seconds(100), [this] { nodes_[0].Exit(0, 7); });
  }
  milliseconds At() const { return milliseconds(std::get<1>(GetParam())); }
};

TEST_P(JobTroubleTest, CtrlCOnceEndsTheJobInTime) {
  Begin(std::min(seconds(90), std::chrono::floor<seconds>(At())));
  Signal(At());
  Run();
  EXPECT_LE(took_, At() + kGrace + StopPolicy::kEndLimit);
  EXPECT_TRUE(nodes_[0].running().empty());
  EXPECT_TRUE(nodes_[2].running().empty());
}

TEST_P(JobTroubleTest, CtrlCThriceEndsItWithinASecond) {
  Begin(std::min(seconds(90), std::chrono::floor<seconds>(At())));
  for (const seconds more : {seconds(0), seconds(1), seconds(4)}) Signal(At() + more);
  Run();
  EXPECT_LE(took_, At() + seconds(4) + seconds(1));
}

// Launching, running, stopping, before and while it is started again, running again.
INSTANTIATE_TEST_SUITE_P(WhateverAndWhenever, JobTroubleTest,
                         testing::Combine(testing::ValuesIn(kTroubles),
                                          testing::Values(1, 2, 50'000, 99'000, 100'100, 101'000,
                                                          131'000, 145'000, 300'000)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_" +
                                  std::to_string(std::get<1>(test.param));
                         });

TEST_F(JobTest, CtrlCTwiceWhileTheEndIsAwaitedKills) {
  nodes_[2].silent = true;
  AllExit(seconds(5), 0);
  nodes_[2].on_start = [this] { nodes_[2].ExitAll(0); };
  nodes_[2].silent = false;
  loop_.After(seconds(4), [this] { nodes_[2].silent = true; });
  for (const int second : {6, 9, 12}) Signal(seconds(second));
  EXPECT_EQ(Run(), 0);  // every rank had ended well
  EXPECT_LE(took_, seconds(13));
}

TEST_F(JobTest, CtrlCJustBeforeTheRanksStartStartsNone) {
  options_.on_running = [this] { job_->Signal(SIGINT); };
  EXPECT_EQ(Run(), 130);
  EXPECT_EQ(std::ranges::count_if(nodes_[0].received, &v1::ChiefMessage::has_start), 0);
  ExpectNothingRuns();
}

// Nodes that go, and what of the job goes on.

TEST_F(JobTest, ANodeThatGoesJustBeforeTheRanksStartEndsTheJob) {
  loop_.TakesTimeInBackground(seconds(5));  // as long as opening the log files takes
  loop_.After(seconds(2), [this] { nodes_[1].Die(); });
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_, HasSubstr("node 10.0.0.2 was lost"));
}

TEST_F(JobTest, ANodeThatComesBackLateHasItsTimeToEnd) {
  nodes_[1].ranks_ignore_stop = true;
  loop_.After(seconds(5), [this] { nodes_[1].CutLink(); });
  loop_.After(seconds(10), [this] { nodes_[0].Exit(0, 7); });
  loop_.After(seconds(45), [this] { nodes_[1].unreachable = false; });
  EXPECT_EQ(Run(), 7);
  EXPECT_THAT(messages_, testing::Not(HasSubstr("waiting no longer")));
  EXPECT_GT(took_, seconds(45) + kGrace);
  ExpectNothingRuns();
}

TEST_F(JobTest, ASilentAgentEndsTheJobWhenItsLeaseIsOver) {
  options_.launch.lease = seconds(20);
  loop_.After(seconds(5), [this] { nodes_[1].CutLink(); });
  EXPECT_EQ(Run(), 125);
  EXPECT_LE(took_, seconds(26));
  EXPECT_GE(took_, seconds(19));
  EXPECT_THAT(report_, HasSubstr("node 10.0.0.2 was lost"));
}

TEST_F(JobTest, AFailureIsRestartedAfterTheFirstWait) {
  options_.restarts.max_restarts = 1;
  loop_.After(seconds(5), [this] { nodes_[1].Exit(3, 7); });
  AllExit(seconds(20), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(planned_, ElementsAre(ElementsAre("10.0.0.1", "10.0.0.2", "node3")));
  EXPECT_THAT(messages_, HasSubstr("restarting in 0.5 s, because rank 3 on 10.0.0.2"));
  EXPECT_EQ(nodes_[0].prepares, 1);
  ExpectNothingRuns();
}

TEST_F(JobTest, ARestartGoesOnWithoutAMemberThatWasLost) {
  options_.restarts.min_nodes = 2;
  loop_.After(seconds(5), [this] { nodes_[1].CutLink(); });
  loop_.After(seconds(90), [this] {
    EXPECT_EQ(nodes_[2].running(), (std::set<uint32_t>{2}));  // it has another number now
    nodes_[0].ExitAll(0);
    nodes_[2].ExitAll(0);
  });
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(planned_, ElementsAre(ElementsAre("10.0.0.1", "node3")));
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2 is lost"));
}

TEST_F(JobTest, ARestartTakesBackANodeWhoseAgentDied) {
  options_.restarts.max_restarts = 1;
  loop_.After(seconds(5), [this] { nodes_[1].Die(); });
  AllExit(seconds(30), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(planned_, ElementsAre(ElementsAre("10.0.0.1", "10.0.0.2", "node3")));
  ExpectNothingRuns();
}

TEST_F(JobTest, WarningsOfEveryPrepareAreTold) {
  options_.restarts.max_restarts = 1;
  loop_.After(seconds(5), [this] {
    nodes_[1].warnings = {"the disk is nearly full"};
    nodes_[1].Exit(3, 7);
  });
  AllExit(seconds(20), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2: the disk is nearly full"));
}

TEST_F(JobTest, TakenPortsLeadToAnotherPlan) {
  nodes_[0].taken = {{4711}, {4712}};
  AllExit(seconds(5), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(planned_.size(), 2u);
  EXPECT_EQ(nodes_[2].prepares, 2);
}

TEST_F(JobTest, PortsThatAreTakenAgainAndAgainAreNamed) {
  nodes_[0].taken.assign(20, {4711});
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_, HasSubstr("somebody else has port 4711 on 10.0.0.1"));
  EXPECT_EQ(planned_.size(), 5u);
}

TEST_F(JobTest, APortOfTheUsersOwnIsNotMoved) {
  options_.fixed_port = 4711;
  nodes_[0].taken = {{4711}};
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_, HasSubstr("--master-port"));
  EXPECT_TRUE(planned_.empty());
}

TEST_F(JobTest, ARaceForAPortIsRunAgain) {
  loop_.After(seconds(1), [this] {
    nodes_[0].Write(0, "bind: Address already in use (port 4711)\n");
    nodes_[0].Exit(0, 1);
  });
  AllExit(seconds(10), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(planned_.size(), 1u);
}

// Time limits.

TEST_F(JobTest, TimeThatIsUpEndsIt) {
  options_.timeout = std::chrono::hours(2);
  EXPECT_EQ(Run(), 124);
  EXPECT_LT(took_, std::chrono::hours(2) + seconds(1));
  ExpectNothingRuns();
}

TEST_F(JobTest, AHangIsToldItsStacksAskedForAndTheJobStopped) {
  options_.hang_timeout = seconds(600);
  loop_.After(seconds(300), [this] { nodes_[2].Write(4, "step 1\n"); });
  EXPECT_EQ(Run(), 124);
  EXPECT_GT(took_, seconds(900));
  EXPECT_LT(took_, seconds(902));
  EXPECT_THAT(messages_, HasSubstr("no rank has written anything for 600 s"));
  EXPECT_THAT(messages_, HasSubstr("what all ranks are doing is in "));
}

TEST_F(JobTest, AHangMayBeToldOnly) {
  options_.hang_timeout = seconds(600);
  options_.on_hang = OnHang::kWarn;
  AllExit(seconds(1000), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, HasSubstr("no rank has written anything for 600 s"));
}

TEST_F(JobTest, RanksThatSigkillCannotEndAreNotWaitedForForEver) {
  nodes_[1].ranks_ignore_stop = nodes_[1].ranks_cannot_be_killed = true;
  loop_.After(seconds(5), [this] { nodes_[0].Exit(0, 3); });
  EXPECT_EQ(Run(), 3);
  EXPECT_THAT(messages_, HasSubstr("2 ranks cannot be ended, not by SIGKILL either"));
  EXPECT_LE(took_, seconds(5) + kGrace + 2 * StopPolicy::kEndLimit + seconds(1));
}

}  // namespace
}  // namespace autodist::chief
