// Jobs with spare nodes, on simulated nodes in simulated time.
#include <gmock/gmock.h>

#include <functional>

#include "support/played_job.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::JobTest;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The last of three nodes is a spare.
class JobSparesTest : public JobTest {
 protected:
  JobSparesTest() : JobTest(test::EqualNodes()) {
    options_.launch.request.set_spares(1);
    options_.launch.request.set_timeout(7'200);  // a job that does not end fails
    for (uint32_t node = 0; node < nodes_.size(); ++node) nodes_[node].lease = kLease;
  }
  // Its agent ends, which is known at once, and the next one takes long to start.
  void EndForLong(uint32_t node) {
    nodes_[node].link_takes = std::chrono::minutes(5);
    nodes_[node].Die();
  }
  // A member that was lost is prepared again.
  void OncePreparing(uint32_t node, const std::function<void()>& act) {
    if (nodes_[node].prepares > 1) return act();
    loop_.After(milliseconds(100), [this, node, act] { OncePreparing(node, act); });
  }
  // The spare has ranks then; they and those of the first node end with 0.
  void SpareSucceedsAt(seconds time) {
    loop_.After(time, [this] {
      EXPECT_FALSE(nodes_[2].running().empty());
      nodes_[0].ExitAll(0);
      nodes_[2].ExitAll(0);
    });
  }
};

TEST_F(JobSparesTest, ASpareRunsNoRank) {
  loop_.After(seconds(2), [this] { EXPECT_TRUE(nodes_[2].running().empty()); });
  AllExit(seconds(5), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(planned_, ElementsAre(ElementsAre("10.0.0.1", "10.0.0.2")));
  ExpectNothingRuns();
}

TEST_F(JobSparesTest, ANodeThatReportsItsEndVeryLateIsNamed) {
  nodes_[0].reporting_takes = seconds(5);
  loop_.After(seconds(20), [this] { job_->Signal(SIGTERM); });
  EXPECT_EQ(Run(), 143);
  EXPECT_THAT(messages_,
              testing::ContainsRegex(
                  "waiting for 10.0.0.1 to end what runs there, for 3[0-9] s at most\n"));
}

TEST_F(JobSparesTest, ASpareThatIsDownDoesNotPreventTheStart) {
  nodes_[2].launch_fails = Error(StatusCode::kUnavailable, "connection refused");
  AllExit(seconds(5), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(planned_, ElementsAre(ElementsAre("10.0.0.1", "10.0.0.2")));
  EXPECT_THAT(messages_, HasSubstr("node3 cannot be reached: connection refused; the job starts "
                                   "without this spare\n"));
  EXPECT_EQ(status_.nodes(2).phase(), v1::NODE_PHASE_LOST);
  EXPECT_EQ(nodes_[2].resumes, 0) << "it lacks the files of --sync";
}

TEST_F(JobSparesTest, ASpareWithAWrongNamePreventsTheStart) {
  nodes_[2].launch_fails = Error(StatusCode::kNotFound, "name does not resolve");
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_, HasSubstr("1 of 3 nodes cannot run the job"));
  EXPECT_THAT(planned_, IsEmpty());
}

TEST_F(JobSparesTest, ASpareThatIsUpButRunsNoAgentPreventsTheStart) {
  nodes_[2].launch_fails = Error(StatusCode::kUnavailable, "the agent did not start");
  nodes_[2].launch_fails_at = v1::CHECK_AGENT;
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_, HasSubstr("1 of 3 nodes cannot run the job"));
}

TEST_F(JobSparesTest, ANodeThatIsDownIsReplacedBeforeTheStart) {
  nodes_[1].launch_fails = Error(StatusCode::kUnavailable, "connection refused");
  SpareSucceedsAt(seconds(5));
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(planned_, ElementsAre(ElementsAre("10.0.0.1", "node3")));
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2 cannot be reached: connection refused; the job starts "
                                   "without it\n"));
  EXPECT_THAT(messages_, HasSubstr("node3 replaces 10.0.0.2\n"));
}

// With spares, what runs on the nodes is ended before the first attempt, too.
TEST_F(JobSparesTest, ANodeThatReportsItsEndLateKeepsItsPlace) {
  nodes_[0].reporting_takes = seconds(1);
  AllExit(seconds(5), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(planned_, ElementsAre(ElementsAre("10.0.0.1", "10.0.0.2")));
}

TEST_F(JobSparesTest, ASpareTakesThePlaceOfANodeThatDoesNotReportItsEnd) {
  nodes_[0].reporting_takes = std::chrono::hours(1);
  loop_.After(seconds(10), [this] {
    nodes_[1].ExitAll(0);
    nodes_[2].ExitAll(0);
  });
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(planned_, ElementsAre(ElementsAre("node3", "10.0.0.2")));
}

TEST_F(JobSparesTest, ANodeThatWasNeverAwayIsNotSaidToBeBack) {
  nodes_[0].reporting_takes = seconds(30);
  loop_.After(seconds(60), [this] {
    nodes_[1].ExitAll(0);
    nodes_[2].ExitAll(0);
  });
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, HasSubstr("10.0.0.1 is idle; a restart can use it"));
}

TEST_F(JobSparesTest, ANodeThatIsCutOffWhileRanksAreStoppedDoesNotEndTheJob) {
  loop_.After(seconds(9), [this] { nodes_[0].deaf = true; });
  loop_.After(seconds(10), [this] { nodes_[1].ExitAll(7); });
  loop_.After(seconds(40), [this] { nodes_[1].Die(); });  // its agent can be started again
  loop_.After(seconds(60), [this] { nodes_[0].CutLink(); });
  AllExit(seconds(400), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(planned_.size(), 2u);
}

TEST_F(JobSparesTest, ASpareTakesThePlaceOfALostNodeAtOnce) {
  loop_.After(seconds(5), [this] { nodes_[1].Die(); });
  SpareSucceedsAt(seconds(8));
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(planned_,
              ElementsAre(ElementsAre("10.0.0.1", "10.0.0.2"), ElementsAre("10.0.0.1", "node3")));
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2 is lost: "));
  EXPECT_THAT(messages_, HasSubstr("restarting, because node 10.0.0.2 was lost\n"));
  EXPECT_THAT(messages_, HasSubstr("node3 replaces 10.0.0.2\n"));
  ExpectNothingRuns();
}

TEST_F(JobSparesTest, ASilentNodeIsReplacedWhenItsLeaseIsOver) {
  loop_.After(seconds(5), [this] { nodes_[1].CutLink(); });
  loop_.After(seconds(4) + kLease, [this] { EXPECT_TRUE(nodes_[2].running().empty()); });
  SpareSucceedsAt(seconds(10) + kLease);
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(planned_.size(), 2u);
}

// The agent receives renewals for longer than the chief receives answers.
TEST_F(JobSparesTest, ASpareNeverRunsARankThatStillRuns) {
  nodes_[1].ranks_ignore_stop = true;
  loop_.After(seconds(5), [this] { nodes_[1].mute = true; });
  nodes_[2].on_start = [this] { EXPECT_TRUE(nodes_[1].running().empty()); };
  SpareSucceedsAt(seconds(10) + kLease);
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(planned_.size(), 2u);
}

TEST_F(JobSparesTest, RanksThatWereReplacedEndEvenIfNoOrderArrives) {
  loop_.After(seconds(5), [this] { nodes_[1].Freeze(); });
  loop_.After(seconds(40) + kLease, [this] {
    nodes_[1].deaf = true;
    nodes_[1].Thaw(true);
    EXPECT_FALSE(nodes_[1].running().empty());
  });
  loop_.After(seconds(40) + 2 * kLease, [this] { EXPECT_TRUE(nodes_[1].running().empty()); });
  SpareSucceedsAt(seconds(40) + 3 * kLease);
  EXPECT_EQ(Run(), 0);
}

TEST_F(JobSparesTest, AfterAFailureASpareWaitsForTheLeaseOfANodeThatIsCutOff) {
  loop_.After(seconds(5), [this] { nodes_[1].CutLink(); });
  loop_.After(seconds(7), [this] { nodes_[0].ExitAll(7); });
  nodes_[2].on_start = [this] { EXPECT_TRUE(nodes_[1].running().empty()); };
  SpareSucceedsAt(seconds(10) + kLease);
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(planned_.size(), 2u);
  EXPECT_THAT(messages_, HasSubstr("restarting, because rank "));
  EXPECT_THAT(messages_, HasSubstr(" at most: ranks may still run on 10.0.0.2, which does not "));
}

TEST_F(JobSparesTest, ALostSpareIsOnlyReported) {
  loop_.After(seconds(5), [this] { nodes_[2].Die(); });
  loop_.After(seconds(10), [this] {
    nodes_[0].ExitAll(0);
    nodes_[1].ExitAll(0);
  });
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(planned_.size(), 1u);
  EXPECT_THAT(messages_, ContainsRegex("node3 is lost: .*; it had no ranks\n"));
}

TEST_F(JobSparesTest, SparesThatAreLostTogetherAreReportedInOneLine) {
  options_.launch.request.set_spares(2);
  for (const uint32_t node : {1u, 2u}) {
    loop_.After(seconds(5), [this, node] { nodes_[node].Die(); });
  }
  loop_.After(seconds(10), [this] { nodes_[0].ExitAll(0); });
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2 and node3 are lost; they had no ranks; 10.0.0.2: "));
  EXPECT_THAT(messages_, Not(HasSubstr("is lost")));
}

TEST_F(JobSparesTest, TheReportNamesALostNodeAndTheTimeLimitThatPreventedARestart) {
  options_.launch.request.set_timeout(30);
  loop_.After(seconds(5), [this] {
    EndForLong(1);
    EndForLong(2);
  });
  EXPECT_EQ(Run(), 125);
  EXPECT_THAT(report_,
              ContainsRegex("^node 10.0.0.2 was lost: .*\n  then --timeout expired, which "));
}

TEST_F(JobSparesTest, BrokenConnectionsInARowCauseNoRecovery) {
  for (int i = 1; i <= 25; ++i) loop_.After(seconds(5 * i), [this] { nodes_[1].Break(); });
  loop_.After(seconds(150), [this] {
    nodes_[0].ExitAll(0);
    nodes_[1].ExitAll(0);
  });
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(planned_.size(), 1u);
}

TEST_F(JobSparesTest, ALostNodeReturnsAsASpare) {
  loop_.After(seconds(5), [this] { nodes_[1].Die(); });
  loop_.After(seconds(20), [this] {
    EXPECT_TRUE(nodes_[1].running().empty());
    EXPECT_TRUE(nodes_[1].connected());
    nodes_[2].Die();
  });
  loop_.After(seconds(30), [this] {
    EXPECT_FALSE(nodes_[1].running().empty());
    nodes_[0].ExitAll(0);
    nodes_[1].ExitAll(0);
  });
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(planned_,
              ElementsAre(ElementsAre("10.0.0.1", "10.0.0.2"), ElementsAre("10.0.0.1", "node3"),
                          ElementsAre("10.0.0.1", "10.0.0.2")));
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2 is back; a restart can use it"));
  ExpectNothingRuns();
}

// The ranks end while a returning node is reached, this long after its agent has started.
class ReturnAtTheEndTest : public JobSparesTest, public testing::WithParamInterface<int> {
 protected:
  void EndOnceReached() {
    if (nodes_[1].gone()) return loop_.After(milliseconds(1), [this] { EndOnceReached(); });
    loop_.After(milliseconds(GetParam()), [this] {
      nodes_[0].ExitAll(0);
      nodes_[2].ExitAll(0);
    });
  }
};

TEST_P(ReturnAtTheEndTest, NoAgentIsLeft) {
  nodes_[1].link_takes = milliseconds(8);
  loop_.After(seconds(5), [this] {
    nodes_[1].Die();
    EndOnceReached();
  });
  EXPECT_EQ(Run(), 0);
  EXPECT_LT(took_, seconds(10));
  EXPECT_THAT(messages_, Not(HasSubstr("what may be left")));
}

INSTANTIATE_TEST_SUITE_P(Milliseconds, ReturnAtTheEndTest, testing::Range(0, 16));

TEST_F(JobSparesTest, ANodeThatReturnsLateIsReachedLessAndLessOften) {
  loop_.After(seconds(5), [this] {
    nodes_[1].Die();
    nodes_[1].unreachable = true;
  });
  int tries = 0;
  loop_.After(std::chrono::minutes(30), [this, &tries] {
    tries = nodes_[1].resumes;
    nodes_[1].unreachable = false;
  });
  SpareSucceedsAt(std::chrono::minutes(33));
  EXPECT_EQ(Run(), 0);
  EXPECT_LT(tries, 2'000);  // a look each second for 30 minutes; the launcher looks more often
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2 is back; a restart can use it"));
}

TEST_F(JobSparesTest, ANodeThatReturnsWithAFaultIsNotUsed) {
  options_.launch.request.set_health(v1::HEALTH_STRICT);
  v1::HardwareFault& fault = *nodes_[1].facts.add_hardware_faults();
  fault.set_what("the memory has uncorrectable errors");
  fault.set_fatal(true);
  loop_.After(seconds(5), [this] { nodes_[1].Die(); });
  loop_.After(seconds(20), [this] {
    nodes_[2].Die();
    nodes_[2].unreachable = true;
  });
  EXPECT_NE(Run(), 0);
  EXPECT_EQ(planned_.size(), 2u);
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2 is back, but the job does without it: the memory has "
                                   "uncorrectable errors"));
  EXPECT_THAT(messages_,
              HasSubstr("restart: the job needs 2 nodes and has 1; 10.0.0.2 cannot be used: "
                        "the memory has uncorrectable errors, node3 is lost\n"));
}

TEST_F(JobSparesTest, ANodeThatIsLostWhileItIsPreparedIsReachedAgain) {
  loop_.After(seconds(5), [this] {
    nodes_[1].prepare_hangs = true;
    nodes_[1].Die();
  });
  loop_.After(seconds(20), [this] {
    nodes_[1].prepare_hangs = false;
    nodes_[1].Die();
  });
  SpareSucceedsAt(seconds(90));
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2 is back; a restart can use it"));
}

// Ranks of the first attempt on the second node; those of later ones have other agents or attempts.
TEST_F(JobSparesTest, ALostNodeThatReturnsWithItsRanksEndsThemBeforeItIsUsed) {
  nodes_[1].lease = milliseconds(0);  // its clock stands still: it outlives its lease
  loop_.After(seconds(5), [this] { nodes_[1].CutLink(); });
  loop_.After(seconds(20) + kLease, [this] {
    EXPECT_FALSE(nodes_[1].running().empty());
    EXPECT_FALSE(nodes_[2].running().empty());
    nodes_[1].unreachable = false;
  });
  loop_.After(seconds(90) + kLease, [this] { EXPECT_TRUE(nodes_[1].running().empty()); });
  loop_.After(seconds(100) + kLease, [this] { EndForLong(2); });
  loop_.After(seconds(120) + kLease, [this] {
    EXPECT_FALSE(nodes_[1].running().empty()) << "it is used again";
    nodes_[0].ExitAll(0);
    nodes_[1].ExitAll(0);
  });
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2 is back; a restart can use it"));
}

TEST_F(JobSparesTest, ANodeThatIsBeingPreparedWhenAnAttemptEndsIsUsed) {
  loop_.After(seconds(5), [this] {
    nodes_[1].preparing_takes = seconds(6);
    nodes_[1].Die();
  });
  loop_.After(seconds(6), [this] { OncePreparing(1, [this] { EndForLong(2); }); });
  loop_.After(seconds(40), [this] {
    EXPECT_FALSE(nodes_[1].running().empty());
    nodes_[0].ExitAll(0);
    nodes_[1].ExitAll(0);
  });
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(planned_.size(), 3u);
  EXPECT_THAT(messages_, Not(HasSubstr("does without it")));
}

TEST_F(JobSparesTest, ACancelledPreparationEndsBeforeTheNextBegins) {
  loop_.After(seconds(5), [this] {
    nodes_[1].preparing_takes = seconds(6);
    nodes_[1].ignores_cancel = true;
    nodes_[1].Die();
  });
  loop_.After(seconds(6), [this] { OncePreparing(1, [this] { EndForLong(2); }); });
  loop_.After(seconds(40), [this] {
    EXPECT_FALSE(nodes_[1].running().empty());
    nodes_[0].ExitAll(0);
    nodes_[1].ExitAll(0);
  });
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(planned_.size(), 3u);
}

TEST_F(JobSparesTest, ASpareTakesThePlaceOfANodeThatCannotBePrepared) {
  options_.launch.request.set_max_restarts(1);
  v1::PrepareIssue issue;
  issue.set_cause("no space left on device");
  loop_.After(seconds(5), [this, issue] {
    nodes_[1].issues = {issue};
    nodes_[0].ExitAll(7);
  });
  SpareSucceedsAt(seconds(10));
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(planned_.size(), 3u);
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2 cannot be used: no space left on device; the job goes "
                                   "on without it"));
}

TEST_F(JobSparesTest, IfAllNodesRefuseForTheSameReasonTheJobEnds) {
  options_.launch.request.set_max_restarts(5);
  options_.launch.request.set_min_nodes(1);  // the spare would be enough
  v1::PrepareIssue issue;
  issue.set_cause("program not found");
  loop_.After(seconds(5), [this, issue] {
    for (uint32_t node = 0; node < 3; ++node) nodes_[node].issues = {issue};
    nodes_[0].ExitAll(7);
  });
  EXPECT_EQ(Run(), 7);
  EXPECT_EQ(planned_.size(), 2u);
  EXPECT_THAT(messages_, HasSubstr("the restart failed, because 2 of 2 nodes cannot run the job"));
}

TEST_F(JobSparesTest, ARestartDoesNotWaitForTheLeaseOfANodeThatIsBack) {
  options_.launch.request.set_max_restarts(1);
  loop_.After(seconds(5), [this] { nodes_[1].CutLink(); });
  loop_.After(seconds(6), [this] { nodes_[0].ExitAll(7); });
  loop_.After(seconds(8), [this] { nodes_[1].unreachable = false; });
  loop_.After(seconds(15), [this] {
    EXPECT_FALSE(nodes_[0].running().empty());
    nodes_[0].ExitAll(0);
    nodes_[1].ExitAll(0);
    nodes_[2].ExitAll(0);
  });
  EXPECT_EQ(Run(), 0);
  EXPECT_LT(took_, seconds(20));
}

TEST_F(JobSparesTest, ACallThatFailsWhileANodeReturnsIsRepeated) {
  loop_.After(seconds(5), [this] {
    nodes_[1].prepare_hangs = true;
    nodes_[1].Die();
  });
  loop_.After(seconds(10), [this] {
    nodes_[1].prepare_hangs = false;
    nodes_[1].Break();
  });
  SpareSucceedsAt(seconds(90));
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2 is back; a restart can use it"));
  EXPECT_THAT(messages_, Not(HasSubstr("does without it")));
}

TEST_F(JobSparesTest, ANodeWhosePreparationARestartCancelledIsPreparedAgain) {
  options_.launch.request.set_max_restarts(1);
  loop_.After(seconds(5), [this] {
    nodes_[1].preparing_takes = seconds(6);
    nodes_[1].Die();
  });
  loop_.After(seconds(6), [this] { OncePreparing(1, [this] { nodes_[0].ExitAll(7); }); });
  SpareSucceedsAt(seconds(30));
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, HasSubstr("10.0.0.2 is back; a restart can use it"));
}

TEST_F(JobSparesTest, ASpareIsASpareAgainAfterARestart) {
  options_.launch.request.set_max_restarts(1);
  loop_.After(seconds(5), [this] { nodes_[0].ExitAll(7); });
  loop_.After(seconds(10), [this] {
    EXPECT_EQ(job_->status().nodes(2).phase(), v1::NODE_PHASE_READY);
    nodes_[0].ExitAll(0);
    nodes_[1].ExitAll(0);
  });
  EXPECT_EQ(Run(), 0);
}

// Of two nodes that are lost one is a spare; both return within the lease.
TEST_F(JobSparesTest, TwoNodesThatAreLostAtTheSameTimeAreAwaited) {
  loop_.After(seconds(5), [this] {
    for (const uint32_t node : {1u, 2u}) {
      nodes_[node].link_takes = seconds(25);
      nodes_[node].Die();
    }
  });
  loop_.After(seconds(28), [this] { EXPECT_EQ(planned_.size(), 1u); });
  loop_.After(seconds(50), [this] {
    nodes_[0].ExitAll(0);
    nodes_[1].ExitAll(0);
  });
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(planned_.size(), 2u);
  EXPECT_THAT(messages_,
              HasSubstr("restarting once enough nodes are back, because node 10.0.0.2 was lost\n"));
  EXPECT_THAT(messages_,
              HasSubstr("waiting for 10.0.0.2 and node3 to return, for 58 s at most: the "
                        "job needs 2 nodes and has 1\n"));
}

TEST_F(JobSparesTest, ANodeThatIsLostLateHasTheWholeTimeToReturn) {
  loop_.After(seconds(5), [this] {
    EndForLong(1);
    nodes_[2].link_takes = kLease - seconds(2);
    nodes_[2].Die();
  });
  loop_.After(seconds(2) + kLease, [this] {
    nodes_[0].link_takes = seconds(10);
    nodes_[0].Die();
  });
  SpareSucceedsAt(seconds(30) + kLease);
  EXPECT_EQ(Run(), 0);
}

TEST_F(JobSparesTest, ANodeThatIsLostAgainAndAgainGivesOthersNoMoreTime) {
  loop_.After(seconds(5), [this] {
    EndForLong(1);
    EndForLong(2);
    nodes_[0].link_takes = seconds(5);
  });
  for (int i = 1; i < 20; ++i) loop_.After(seconds(10 * i), [this] { nodes_[0].Die(); });
  EXPECT_NE(Run(), 0);
  EXPECT_LT(took_, seconds(10) + kLease);
}

plan::Input NineNodes() {
  plan::Input input = test::EqualNodes();
  for (int number = 4; number <= 9; ++number) {
    spec::Node node = input.spec.nodes.back();
    node.address = "node" + std::to_string(number);
    const std::string ip = "10.0.0." + std::to_string(number);
    input.address_of[node.address] = {ip, ip, "", {}};
    input.spec.nodes.push_back(std::move(node));
  }
  return input;
}

class JobManySparesTest : public JobTest {
 protected:
  JobManySparesTest() : JobTest(NineNodes()) {}
};

TEST_F(JobManySparesTest, ReplacedNodesAreNamed) {
  options_.launch.request.set_spares(4);
  options_.launch.request.set_timeout(7'200);
  loop_.After(seconds(5), [this] {
    for (uint32_t node = 1; node < 5; ++node) {
      nodes_[node].link_takes = std::chrono::minutes(5);
      nodes_[node].Die();
    }
  });
  AllExit(seconds(10), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, HasSubstr("node6, node7, node8 and node9 replace 10.0.0.2, node3, node4 "
                                   "and node5\n"));
}

// The spare has other devices than the others.
class JobOtherSpareTest : public JobTest {};

TEST_F(JobOtherSpareTest, TheReasonWhyASpareIsNotUsedIsReported) {
  options_.launch.request.set_spares(1);
  options_.launch.request.set_min_nodes(1);
  options_.launch.request.set_timeout(7'200);
  loop_.After(seconds(5), [this] {
    nodes_[1].link_takes = std::chrono::minutes(5);
    nodes_[1].Die();
  });
  loop_.After(seconds(30), [this] { nodes_[0].ExitAll(0); });
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_,
              HasSubstr("10.0.0.2 is not replaced: node3 does not fit: it has other devices\n"));
}

// Three nodes, of which two suffice.
class JobMinNodesTest : public JobTest {
 protected:
  JobMinNodesTest() : JobTest(test::EqualNodes()) {
    options_.launch.request.set_min_nodes(2);
    options_.launch.request.set_max_restarts(1);
    options_.launch.request.set_timeout(7'200);
    for (uint32_t node = 0; node < nodes_.size(); ++node) nodes_[node].lease = kLease;
  }
};

// Its agent's lease is renewed, but the order to end its ranks has not arrived.
TEST_F(JobMinNodesTest, AConnectionThatBreaksAgainWhileNodesAreGatheredIsWaitedFor) {
  loop_.After(seconds(5), [this] { nodes_[1].CutLink(); });
  loop_.After(seconds(7), [this] {
    nodes_[0].ExitAll(7);
    nodes_[0].on_start = [this] { EXPECT_TRUE(nodes_[1].running().empty()); };
  });
  loop_.After(seconds(50), [this] {
    nodes_[1].deaf = true;
    nodes_[1].unreachable = false;
  });
  loop_.After(seconds(55), [this] { nodes_[1].CutLink(); });
  loop_.After(seconds(70), [this] { EXPECT_FALSE(nodes_[1].running().empty()); });
  AllExit(seconds(200), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(planned_.size(), 1u);
}

TEST_F(JobMinNodesTest, NodesThatMayReturnAreAwaitedAlthoughOneIsLeftOut) {
  v1::PrepareIssue issue;
  issue.set_cause("no space left on device");
  loop_.After(seconds(5), [this, issue] {
    nodes_[2].issues = {issue};
    nodes_[0].ExitAll(7);
  });
  loop_.After(seconds(20), [this] {
    EXPECT_TRUE(nodes_[2].running().empty());
    nodes_[1].CutLink();
  });
  loop_.After(seconds(60), [this] { nodes_[1].unreachable = false; });
  AllExit(seconds(100), 0);
  EXPECT_EQ(Run(), 0);
}

}  // namespace
}  // namespace autodist::chief
