// Jobs on simulated nodes, in simulated time.
#include "chief/job.h"

#include <gmock/gmock.h>
#include <signal.h>

#include "base/node_is_down.h"
#include "support/in_seconds.h"
#include "support/played_job.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::JobTest;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(JobTest, SucceedsWhenAllRanksDo) {
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
  EXPECT_THAT(report_, HasSubstr("ended on SIGTERM"));
  ExpectNothingRuns();
}

// The fatal message may arrive after the rank's end.
TEST_F(JobTest, AFailureByATimeoutIsReportedWithTheRanksThatDidNotCome) {
  nodes_[1].stacks =
      "process 100 (sleeping): python3 train.py\n  thread 100 (python3): sleeping in "
      "hrtimer_nanosleep\n";
  loop_.After(seconds(5), [this] { nodes_[2].Exit(4, 134); });
  loop_.After(seconds(5) + milliseconds(100), [this] {
    nodes_[2].Write(4, "terminate called after throwing an instance of 'c10::DistBackendError'\n");
  });
  loop_.After(seconds(5) + milliseconds(200), [this] {
    nodes_[2].Write(4, "  what():  Watchdog caught collective operation timeout\n");
  });
  EXPECT_EQ(Run(), 134);
  EXPECT_LT(took_, seconds(6));
  EXPECT_THAT(report_, HasSubstr("rank 2 (10.0.0.2) sleeps, while others waited for them\n"
                                 "  because of it, rank 4 on node3 "));
  ExpectNothingRuns();
}

TEST_F(JobTest, TheLimitOfTheEndBeginsWhenAFailureIsExplained) {
  nodes_[0].ranks_ignore_stop = true;
  nodes_[1].stacks_take = seconds(60);  // so the search takes its limit of 10 s
  loop_.After(seconds(5), [this] {
    nodes_[2].Write(4,
                    "terminate called after throwing an instance of 'c10::DistBackendError'\n"
                    "  what():  Watchdog caught collective operation timeout\n");
    nodes_[2].Exit(4, 134);
  });
  EXPECT_EQ(Run(), 134);
  EXPECT_GT(took_, seconds(15) + kGrace);
  EXPECT_THAT(messages_, Not(HasSubstr("did not end")));
  ExpectNothingRuns();
}

TEST_F(JobTest, AFailureIsExplainedNoFurtherWhenTheUserStops) {
  nodes_[1].stacks_take = seconds(60);
  loop_.After(seconds(5), [this] {
    nodes_[2].Write(4,
                    "terminate called after throwing an instance of 'c10::DistBackendError'\n"
                    "  what():  Watchdog caught collective operation timeout\n");
    nodes_[2].Exit(4, 134);
  });
  Signal(seconds(7));
  EXPECT_EQ(Run(), 134);
  EXPECT_LT(took_, seconds(8));
  ExpectNothingRuns();
}

TEST_F(JobTest, ANodeThatCannotRunTheJobIsReportedAndNothingStarts) {
  nodes_[1].launch_fails = Error(StatusCode::kUnavailable, "connection refused");
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_, HasSubstr("1 of 3 nodes cannot run the job"));
  EXPECT_EQ(std::ranges::count_if(nodes_[0].received, &v1::ChiefMessage::has_start), 0);
}

TEST_F(JobTest, TheHintNamesANodeThatIsDown) {
  nodes_[1].launch_fails = NodeIsDown::Mark(Error(StatusCode::kUnavailable, "connection refused"));
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(
      report_,
      HasSubstr(
          "\n  hint: to start without this node: --exclude 10.0.0.2; to wait "
          "until nodes are up: --wait-for-nodes 10m; to start with fewer nodes: --min-nodes 2"));
}

TEST_F(JobTest, TheHintNamesAllFailedNodesAndNoWaitForNodesThatAreUp) {
  nodes_[1].launch_fails = Error(StatusCode::kPermissionDenied, "key refused");
  nodes_[2].launch_fails = Error(StatusCode::kDeadlineExceeded, "the login is slow");
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_,
              EndsWith("\n  hint: to start without these nodes: --exclude 10.0.0.2,node3"));
}

TEST_F(JobTest, TheHintNamesNoOptionThatWasGiven) {
  options_.launch.request.set_wait_for_nodes(300);
  options_.launch.request.set_min_nodes(3);
  nodes_[1].launch_fails = Error(StatusCode::kUnavailable, "connection refused");
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_, EndsWith("\n  hint: to start without this node: --exclude 10.0.0.2"));
}

TEST_F(JobTest, TheHintNamesNoOptionThatContradictsAnother) {
  options_.launch.request.set_on_node_loss(v1::ON_NODE_LOSS_STOP);
  nodes_[1].launch_fails = Error(StatusCode::kUnavailable, "no route: Network is unreachable");
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_, EndsWith("\n  hint: to start without this node: --exclude 10.0.0.2"));
}

TEST_F(JobTest, ANodeBeyondMinNodesThatIsDownDoesNotPreventTheStart) {
  options_.launch.request.set_min_nodes(2);
  nodes_[1].launch_fails = Error(StatusCode::kUnavailable, "connection refused");
  AllExit(seconds(5), 0);
  EXPECT_EQ(Run(), 0);
  ASSERT_EQ(planned_.size(), 1u);
  EXPECT_EQ(planned_[0], (std::vector<std::string>{"10.0.0.1", "node3"}));
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2 cannot be reached: connection refused; the job starts "
                                   "without it\n"));
}

TEST_F(JobTest, ANodeThatRefusesTheLoginPreventsTheStart) {
  options_.launch.request.set_min_nodes(2);
  nodes_[1].launch_fails = Error(StatusCode::kPermissionDenied, "key refused");
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_, HasSubstr("1 of 3 nodes cannot run the job"));
  EXPECT_THAT(planned_, IsEmpty());
}

// Ctrl-C once, twice and three times, in every phase.

TEST_F(JobTest, CtrlCDuringTheLaunchEndsIt) {
  nodes_[1].launch_hangs = true;
  Signal(seconds(2));
  EXPECT_EQ(Run(), 130);
  EXPECT_LT(took_, seconds(3));
  EXPECT_THAT(messages_,
              HasSubstr("SIGINT: cancelling the start, for up to 40 s; repeat to end it"));
  EXPECT_THAT(messages_, HasSubstr("interrupted before a rank was started"));
}

TEST_F(JobTest, ASlowLaunchReportsOnceWhatItWaitsFor) {
  nodes_[1].launch_hangs = true;
  Signal(seconds(25));
  EXPECT_EQ(Run(), 130);
  EXPECT_THAT(messages_, HasSubstr("autodist: waiting for 10.0.0.2\n"));
  EXPECT_EQ(messages_.find("waiting for"), messages_.rfind("waiting for"));
}

TEST_F(JobTest, ALaunchOfLessThanASecondReportsNothing) {
  nodes_[1].launch_hangs = true;
  Signal(milliseconds(990));
  EXPECT_EQ(Run(), 130);
  EXPECT_THAT(messages_, Not(HasSubstr("waiting for")));
}

TEST_F(JobTest, ASlowRestartReportsWhatItWaitsForToo) {
  options_.launch.request.set_max_restarts(1);
  nodes_[1].prepare_hangs = true;
  loop_.After(seconds(5), [this] { nodes_[1].Exit(3, 7); });
  Signal(seconds(8));
  EXPECT_EQ(Run(), 7);
  EXPECT_THAT(messages_, HasSubstr("autodist: waiting for 10.0.0.2\n"));
}

TEST_F(JobTest, CtrlCTwiceDuringALaunchWithASilentAgentKills) {
  nodes_[1].launch_hangs = true;
  loop_.After(seconds(1), [this] { nodes_[0].silent = true; });
  for (const int second : {2, 3}) Signal(seconds(second));
  EXPECT_EQ(Run(), 130);
  EXPECT_LE(took_, seconds(3) + kGrace + StopPolicy::kEndLimit + kLease);
}

TEST_F(JobTest, CtrlCThreeTimesDuringALaunchWithASilentAgentLeavesAtOnce) {
  nodes_[1].launch_hangs = true;
  loop_.After(milliseconds(500), [this] { nodes_[0].silent = true; });
  for (const int second : {2, 3, 6}) Signal(seconds(second));
  EXPECT_EQ(Run(), 130);
  EXPECT_LE(took_, seconds(7));
}

TEST_F(JobTest, CtrlCStopsRanks) {
  Signal(seconds(5));
  EXPECT_EQ(Run(), 130);
  EXPECT_LT(took_, seconds(6));
  EXPECT_THAT(report_, HasSubstr("ended on SIGTERM"));
  ExpectNothingRuns();
}

TEST_F(JobTest, OnlyAJobThatTrainsHasAGoodput) {
  options_.measures_goodput = false;
  AllExit(seconds(300), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, testing::Not(HasSubstr("goodput")));
}

TEST_F(JobTest, ASingleRankThatIsLeftIsNotSaidToBeSeveral) {
  loop_.After(seconds(2), [this] {
    for (const uint32_t node : {0u, 1u}) nodes_[node].ExitAll(0);
  });
  Signal(seconds(4), SIGUSR1);
  Signal(seconds(5));
  EXPECT_EQ(Run(), 130);
  EXPECT_THAT(messages_, HasSubstr("SIGUSR1 is passed on to the rank\n"));
  EXPECT_THAT(messages_, HasSubstr("SIGINT: the rank has 30 s to exit; repeat to kill it\n"));
}

TEST_F(JobTest, ASingleRankThatIsStoppedIsNamed) {
  loop_.After(seconds(2), [this] {
    nodes_[0].ExitAll(0);
    nodes_[2].ExitAll(0);
    nodes_[1].Exit(3, 7);
  });
  EXPECT_EQ(Run(), 7);
  EXPECT_THAT(messages_, HasSubstr("; stopping rank 2, which has 30 s to exit\n"));
}

TEST_F(JobTest, TheSenderOfTheSignalIsReportedIfKnown) {
  loop_.After(seconds(5), [this] { job_->Signal(SIGTERM, "`autodist stop`"); });
  EXPECT_EQ(Run(), 143);
  EXPECT_THAT(report_, HasSubstr("stopped by `autodist stop`"));
  EXPECT_THAT(messages_, HasSubstr("`autodist stop`: the ranks have 30 s to exit"));
}

TEST_F(JobTest, ASignalThatIsPassedOnIsReported) {
  Signal(seconds(5), SIGUSR1);
  AllExit(seconds(6), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, HasSubstr("SIGUSR1 is passed on to all ranks"));
}

TEST_F(JobTest, CtrlCOnceGivesRanksTheirGracePeriod) {
  nodes_[1].ranks_ignore_stop = true;
  Signal(seconds(5));
  EXPECT_EQ(Run(), 130);
  EXPECT_GE(took_, seconds(5) + kGrace);
  EXPECT_LT(took_, seconds(6) + kGrace);
  EXPECT_THAT(messages_,
              testing::ContainsRegex("waiting for ranks on 10.0.0.2 to end, for up to 3[0-9] s"));
  ExpectNothingRuns();
}

TEST_F(JobTest, ASingleRankThatIsWaitedForIsNamed) {
  nodes_[2].ranks_ignore_stop = true;
  Signal(seconds(5));
  EXPECT_EQ(Run(), 130);
  EXPECT_THAT(messages_,
              testing::ContainsRegex("waiting for rank 4 on node3 to end, for up to 3[0-9] s"));
}

TEST_F(JobTest, AWaitForANodeThatDoesNotAnswerNamesALimitWithItsLease) {
  options_.launch.request.set_lease(test::InSeconds(seconds(60)));
  loop_.After(seconds(5), [this] { nodes_[1].CutLink(); });
  loop_.After(seconds(6), [this] { nodes_[0].Exit(0, 3); });
  EXPECT_EQ(Run(), 3);
  EXPECT_THAT(messages_, testing::ContainsRegex(
                             "waiting for ranks on 10.0.0.2 to end, for up to 1 min 3[0-9] s"));
}

TEST_F(JobTest, ATimeoutThatPreventsNoRestartIsNotReported) {
  options_.launch.request.set_timeout(10);
  nodes_[1].ranks_ignore_stop = true;
  loop_.After(seconds(5), [this] { nodes_[0].Exit(0, 3); });
  EXPECT_EQ(Run(), 3);
  EXPECT_THAT(messages_ + report_, testing::Not(HasSubstr("--timeout")));
}

TEST_F(JobTest, ATimeoutAfterARequestToStopIsNotReported) {
  options_.launch.request.set_max_restarts(3);
  options_.launch.request.set_timeout(10);
  nodes_[1].ranks_ignore_stop = true;
  Signal(seconds(5));
  EXPECT_EQ(Run(), 130);
  EXPECT_THAT(messages_ + report_, testing::Not(HasSubstr("--timeout")));
}

TEST_F(JobTest, CtrlCTwiceKillsAtOnce) {
  nodes_[1].ranks_ignore_stop = true;
  for (const int second : {5, 8}) Signal(seconds(second));
  EXPECT_EQ(Run(), 130);
  EXPECT_LT(took_, seconds(9));
  EXPECT_THAT(report_, HasSubstr("needed SIGKILL"));
  EXPECT_THAT(messages_, HasSubstr("SIGINT: killing the remaining processes, for up to 10 s; "));
  ExpectNothingRuns();
}

TEST_F(JobTest, CtrlCThreeTimesStopsWaiting) {
  nodes_[1].ranks_ignore_stop = nodes_[1].ranks_cannot_be_killed = true;
  for (const int second : {5, 8, 12}) Signal(seconds(second));
  EXPECT_EQ(Run(), 130);
  EXPECT_LE(took_, seconds(13));
  EXPECT_THAT(messages_, HasSubstr("SIGINT: waiting no longer"));
}

TEST_F(JobTest, CtrlCThreeTimesStopsWaitingForAgentsToo) {
  nodes_[1].stays = true;
  for (const int time : {5'000, 6'000, 8'000})
    Signal(milliseconds(time));  // before they are given up
  EXPECT_EQ(Run(), 130);
  EXPECT_LE(took_, milliseconds(9'200));
  EXPECT_THAT(messages_, HasSubstr("SIGINT: waiting no longer"));
  EXPECT_THAT(messages_, testing::Not(HasSubstr("not ended yet")));
}

TEST_F(JobTest, AgentsThatStayAreNamedTogether) {
  for (const uint32_t node : {0u, 1u, 2u}) nodes_[node].stays = true;
  AllExit(seconds(5), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_,
              HasSubstr("10.0.0.1, 10.0.0.2 and node3: the agents have not ended yet\n"));
}

TEST_F(JobTest, CtrlCDuringTheEndOfAFailedJobKills) {
  nodes_[0].ranks_ignore_stop = true;
  loop_.After(seconds(5), [this] { nodes_[1].Exit(3, 7); });
  Signal(seconds(10));
  EXPECT_EQ(Run(), 7);
  EXPECT_LT(took_, seconds(11));
}

TEST_F(JobTest, ASignalThatPreventsNoRestartDoesNotSayThatItDoes) {
  nodes_[0].ranks_ignore_stop = true;
  loop_.After(seconds(5), [this] { nodes_[1].Exit(3, 7); });
  Signal(seconds(10), SIGTERM);
  EXPECT_EQ(Run(), 7);
  EXPECT_THAT(messages_, HasSubstr("SIGTERM: the ranks are being stopped; repeat to kill"));
}

TEST_F(JobTest, ASignalAfterAllRanksHaveEndedNamesNoRanks) {
  nodes_[1].stays = true;
  AllExit(seconds(5), 0);
  Signal(seconds(6), SIGTERM);
  Run();
  EXPECT_THAT(messages_,
              HasSubstr("SIGTERM: the job is ending; repeat to kill the remaining processes\n"));
  EXPECT_THAT(messages_, Not(HasSubstr("being stopped")));
}

TEST_F(JobTest, ASignalAfterAFailedJobHasEndedNamesNoRanks) {
  nodes_[1].stays = true;
  loop_.After(seconds(5), [this] { nodes_[1].Exit(3, 7); });
  Signal(seconds(6), SIGTERM);
  EXPECT_EQ(Run(), 7);
  EXPECT_THAT(messages_,
              HasSubstr("SIGTERM: the job is ending; repeat to kill the remaining processes\n"));
  EXPECT_THAT(messages_, Not(HasSubstr("being stopped")));
}

TEST_F(JobTest, OnlyALostNodeLeadsToARestartByMinNodes) {
  options_.launch.request.set_min_nodes(1);
  nodes_[0].ranks_ignore_stop = true;
  loop_.After(seconds(5), [this] { nodes_[1].Exit(3, 7); });
  Signal(seconds(10), SIGTERM);
  EXPECT_EQ(Run(), 7);
  EXPECT_THAT(messages_, Not(HasSubstr("no further restart")));
}

TEST_F(JobTest, CtrlCBeforeARestartPreventsIt) {
  options_.launch.request.set_max_restarts(3);
  for (const int time : {5, 7}) loop_.After(seconds(time), [this] { nodes_[1].Exit(3, 7); });
  Signal(seconds(7) + milliseconds(500));  // only later restarts wait
  EXPECT_EQ(Run(), 7);
  EXPECT_EQ(planned_.size(), 1u);
  EXPECT_THAT(messages_, HasSubstr("SIGINT: no further restart"));
  ExpectNothingRuns();
}

TEST_F(JobTest, AfterTheLastAllowedAttemptASignalPreventsNoRestart) {
  options_.launch.request.set_max_restarts(1);
  nodes_[0].ranks_ignore_stop = true;
  for (const int time : {5, 60}) loop_.After(seconds(time), [this] { nodes_[1].Exit(3, 7); });
  Signal(seconds(65), SIGTERM);
  EXPECT_EQ(Run(), 7);
  EXPECT_EQ(planned_.size(), 1u);
  EXPECT_THAT(messages_, HasSubstr("SIGTERM: the ranks are being stopped; repeat to kill"));
}

TEST_F(JobTest, CtrlCDuringPreparationForARestartEndsIt) {
  options_.launch.request.set_max_restarts(3);
  nodes_[1].prepare_hangs = true;
  loop_.After(seconds(5), [this] { nodes_[1].Exit(3, 7); });
  Signal(seconds(8));
  EXPECT_EQ(Run(), 7);
  EXPECT_LT(took_, seconds(9));
  ExpectNothingRuns();
}

TEST_F(JobTest, CtrlCThreeTimesWhileARestartWaitsForASilentNodeLeavesAtOnce) {
  options_.launch.request.set_max_restarts(3);
  loop_.After(seconds(5), [this] {
    nodes_[1].silent = true;
    nodes_[0].Exit(0, 7);
  });
  for (const int second : {6, 7, 10}) Signal(seconds(second));
  EXPECT_EQ(Run(), 7);
  EXPECT_LE(took_, seconds(11));
}

TEST_F(JobTest, CtrlCDuringAReconnectEndsReachableNodes) {
  options_.launch.request.set_spec("my nodes.yaml");
  loop_.After(seconds(5), [this] { nodes_[1].CutLink(); });
  for (const int second : {10, 13, 16}) Signal(seconds(second));
  EXPECT_EQ(Run(), 130);
  EXPECT_LE(took_, seconds(17));
  EXPECT_TRUE(nodes_[0].gone());
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2: no agent there confirmed that the job ended; what"));
  EXPECT_EQ(messages_.find("what may be left"), messages_.rfind("what may be left"));
  EXPECT_THAT(messages_, HasSubstr("or by `autodist clean --spec 'my nodes.yaml'`\n"));
}

TEST_F(JobTest, CtrlCTwiceDuringTheEndKills) {
  nodes_[2].silent = true;
  AllExit(seconds(5), 0);
  nodes_[2].on_start = [this] { nodes_[2].ExitAll(0); };
  nodes_[2].silent = false;
  loop_.After(seconds(4), [this] { nodes_[2].silent = true; });
  for (const int second : {6, 9, 12}) Signal(seconds(second));
  EXPECT_EQ(Run(), 0);  // every rank had succeeded
  EXPECT_LE(took_, seconds(13));
}

TEST_F(JobTest, CtrlCJustBeforeTheRanksStartStartsNone) {
  options_.on_running = [this] { job_->Signal(SIGINT); };
  EXPECT_EQ(Run(), 130);
  EXPECT_EQ(std::ranges::count_if(nodes_[0].received, &v1::ChiefMessage::has_start), 0);
  ExpectNothingRuns();
}

// Lost nodes, and how the job continues.

TEST_F(JobTest, ANodeLostJustBeforeTheRanksStartEndsTheJob) {
  loop_.TakesTimeInBackground(seconds(5));  // the time to open the log files
  loop_.After(seconds(2), [this] { nodes_[1].Die(); });
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_, HasSubstr("node 10.0.0.2 was lost"));
}

TEST_F(JobTest, ANodeThatReconnectsLateHasItsTimeToEnd) {
  nodes_[1].ranks_ignore_stop = true;
  loop_.After(seconds(5), [this] { nodes_[1].CutLink(); });
  loop_.After(seconds(10), [this] { nodes_[0].Exit(0, 7); });
  loop_.After(seconds(45), [this] { nodes_[1].unreachable = false; });
  EXPECT_EQ(Run(), 7);
  EXPECT_THAT(messages_, testing::Not(HasSubstr("waiting no longer")));
  EXPECT_GT(took_, seconds(45) + kGrace);
  ExpectNothingRuns();
}

TEST_F(JobTest, ASilentAgentEndsTheJobWhenItsLeaseExpires) {
  options_.launch.request.set_lease(test::InSeconds(seconds(20)));
  loop_.After(seconds(5), [this] { nodes_[1].CutLink(); });
  EXPECT_EQ(Run(), 125);
  EXPECT_LE(took_, seconds(26));
  EXPECT_GE(took_, seconds(19));
  EXPECT_THAT(report_, HasSubstr("node 10.0.0.2 was lost"));
}

TEST_F(JobTest, AFailureIsRestartedAtOnce) {
  options_.launch.request.set_max_restarts(1);
  loop_.After(seconds(5), [this] { nodes_[1].Exit(3, 7); });
  AllExit(seconds(20), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(planned_, ElementsAre(ElementsAre("10.0.0.1", "10.0.0.2", "node3")));
  EXPECT_THAT(messages_, HasSubstr("restarting, because rank 3 on 10.0.0.2"));
  EXPECT_EQ(nodes_[0].prepares, 1);
  ExpectNothingRuns();
}

TEST_F(JobTest, ARestartContinuesWithoutALostMember) {
  options_.launch.request.set_min_nodes(2);
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

TEST_F(JobTest, ARestartIncludesANodeWhoseAgentDied) {
  options_.launch.request.set_max_restarts(1);
  loop_.After(seconds(5), [this] { nodes_[1].Die(); });
  AllExit(seconds(30), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(planned_, ElementsAre(ElementsAre("10.0.0.1", "10.0.0.2", "node3")));
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2 is back\n"));
  ExpectNothingRuns();
}

TEST_F(JobTest, WarningsOfEveryPrepareAreReported) {
  options_.launch.request.set_max_restarts(1);
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

TEST_F(JobTest, PortsThatAreTakenRepeatedlyAreNamed) {
  nodes_[0].taken.assign(20, {4711});
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_, HasSubstr("port 4711 on 10.0.0.1 is in use"));
  EXPECT_EQ(planned_.size(), 5u);
}

TEST_F(JobTest, APortChosenByTheUserIsNotMoved) {
  options_.launch.request.set_master_port(4711);
  nodes_[0].taken = {{4711}};
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_, HasSubstr("--master-port"));
  EXPECT_THAT(planned_, IsEmpty());
}

TEST_F(JobTest, ALostRaceForAPortIsRetried) {
  loop_.After(seconds(1), [this] {
    nodes_[0].Write(0, "bind: Address already in use (port 4711)\n");
    nodes_[0].Exit(0, 1);
  });
  AllExit(seconds(10), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(planned_.size(), 1u);
}

// Time limits.

TEST_F(JobTest, ATimeoutEndsIt) {
  options_.launch.request.set_timeout(test::InSeconds(std::chrono::hours(2)));
  EXPECT_EQ(Run(), 124);
  EXPECT_LT(took_, std::chrono::hours(2) + seconds(1));
  ExpectNothingRuns();
}

TEST_F(JobTest, AHangIsReportedStacksAreCollectedAndTheJobIsStopped) {
  options_.launch.request.set_hang_timeout("600");
  loop_.After(seconds(300), [this] { nodes_[2].Write(4, "step 1\n"); });
  EXPECT_EQ(Run(), 124);
  EXPECT_GT(took_, seconds(900));
  EXPECT_LT(took_, seconds(902));
  EXPECT_THAT(messages_, HasSubstr("no rank has written anything for 600 s"));
  EXPECT_THAT(messages_, HasSubstr("what all ranks are doing is in "));
}

TEST_F(JobTest, NothingHangsWhileARankReportsProgress) {
  options_.launch.request.set_hang_timeout("30");
  for (const int time : {20, 40, 60}) {
    loop_.After(seconds(time), [this, time] {
      v1::AgentEvent event;
      event.mutable_progress_line()->set_rank(4);
      event.mutable_progress_line()->set_line("{\"step\": " + std::to_string(time) + "}");
      nodes_[2].Send(event);
    });
  }
  AllExit(seconds(80), 0);
  EXPECT_EQ(Run(), 0);
}

TEST_F(JobTest, AHangMayBeDetectedByTheStepTime) {
  options_.launch.request.set_hang_timeout("auto");
  loop_.After(seconds(300),
              [this] { nodes_[2].Write(4, " 50%|#####     | 50/100 [10:00<10:00, 10.00s/it]\n"); });
  EXPECT_EQ(Run(), 124);
  EXPECT_GT(took_, seconds(400));
  EXPECT_LT(took_, seconds(405));
  EXPECT_THAT(messages_, HasSubstr("no rank has written anything for 100 s"));
}

TEST_F(JobTest, NothingHangsByStepTimeWhileARankComputes) {
  options_.launch.request.set_hang_timeout("auto");
  loop_.After(seconds(300),
              [this] { nodes_[2].Write(4, " 50%|#####     | 50/100 [10:00<10:00, 10.00s/it]\n"); });
  nodes_[1].stacks = "process 100 (running): python3 train.py\n  thread 100 (python3): running\n";
  AllExit(seconds(1000), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, Not(HasSubstr("no rank has written anything")));
}

TEST_F(JobTest, NothingHangsByStepTimeWhileAnyThreadComputes) {
  options_.launch.request.set_hang_timeout("auto");
  loop_.After(seconds(300),
              [this] { nodes_[2].Write(4, " 50%|#####     | 50/100 [10:00<10:00, 10.00s/it]\n"); });
  const auto text = [](int at_ms, int cpu_ms) {
    return "process 100 (sleeping): python3 train.py\n  thread 100 (python3): sleeping in "
           "futex_do_wait, system call 202\n  by " +
           std::to_string(at_ms) + " ms: CPU " + std::to_string(cpu_ms) +
           " ms, main thread 10 ms, data 0 bytes\n";
  };
  nodes_[1].stacks = text(1'000, 500);
  loop_.After(seconds(402), [&] { nodes_[1].stacks = text(5'000, 4'000); });
  loop_.After(seconds(480), [&] { AllExit(seconds(0), 0); });
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, Not(HasSubstr("no rank has written anything")));
}

// Programs may load for long.
TEST_F(JobTest, NothingHangsBeforeTheFirstOutputWhileARankComputes) {
  options_.launch.request.set_hang_timeout("200");
  nodes_[1].stacks = "process 100 (running): python3 train.py\n  thread 100 (python3): running\n";
  AllExit(seconds(1000), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, Not(HasSubstr("no rank has written anything")));
}

TEST_F(JobTest, WithoutRecognizedStepsTheUserIsInformedOnce) {
  options_.launch.request.set_hang_timeout("auto");
  AllExit(seconds(1000), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, HasSubstr("no step has been recognised so far"));
}

TEST_F(JobTest, NothingHangsWhileANodeIsDisconnected) {
  options_.launch.request.set_hang_timeout("200");
  options_.launch.request.set_lease(test::InSeconds(seconds(600)));
  loop_.After(seconds(5), [this] { nodes_[1].CutLink(); });
  loop_.After(seconds(300), [this] { nodes_[1].unreachable = false; });
  AllExit(seconds(400), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, Not(HasSubstr("no rank has written anything")));
}

TEST_F(JobTest, AHangMayOnlyBeReported) {
  options_.launch.request.set_hang_timeout("600");
  options_.launch.request.set_on_hang(v1::ON_HANG_WARN);
  AllExit(seconds(1000), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, HasSubstr("no rank has written anything for 600 s"));
}

TEST_F(JobTest, RanksThatSurviveSigkillAreNotAwaitedForever) {
  nodes_[1].ranks_ignore_stop = nodes_[1].ranks_cannot_be_killed = true;
  loop_.After(seconds(5), [this] { nodes_[0].Exit(0, 3); });
  EXPECT_EQ(Run(), 3);
  EXPECT_THAT(messages_, HasSubstr("2 ranks did not end, not by SIGKILL either"));
  EXPECT_LE(took_, seconds(5) + kGrace + 2 * StopPolicy::kEndLimit + seconds(1));
}

}  // namespace
}  // namespace autodist::chief
