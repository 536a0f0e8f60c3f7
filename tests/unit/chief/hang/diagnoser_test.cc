#include "chief/hang/diagnoser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "support/played_job.h"

namespace autodist::chief {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kStoppedRank[] =
    "process 100 (stopped): python3 train.py\n  thread 100 (python3): stopped in do_signal_stop, "
    "system call 62\n";

constexpr char kConnectingRank[] =
    "process 100 (sleeping): python3 train.py\n  thread 100 (python3): sleeping in "
    "hrtimer_nanosleep\n    switched 100 times\n  connecting to 10.9.9.9:29500: sent again 3 "
    "times\n  user-space stacks by py-spy:\n    Thread 100 (idle): \"MainThread\"\n        "
    "_create_c10d_store (/x/site-packages/torch/distributed/rendezvous.py:250)\n";

class DiagnoserTest : public test::JobTest {
 protected:
  void AskAt(seconds time) {
    loop_.After(time, [this] {
      job_->Requests().snapshots.diagnosis([this](const Result<v1::JobDiagnosis>& answer) {
        answers_.push_back(answer.ok() ? answer->issue().what() : Message(answer.status()));
      });
    });
  }
  // The orders to collect stacks that a node has received.
  std::vector<v1::CollectStacks> Looks() {
    std::vector<v1::CollectStacks> looks;
    for (const v1::ChiefMessage& message : nodes_[1].received) {
      if (message.has_collect_stacks()) looks.push_back(message.collect_stacks());
    }
    return looks;
  }

  std::vector<std::string> answers_;
};

TEST_F(DiagnoserTest, ClientsShareOneDiagnosis) {
  for (const int time : {5, 6, 15}) AskAt(seconds(time));
  AllExit(seconds(30), 0);
  EXPECT_EQ(Run(), 0);
  const std::string unclear = "unclear: no data on what the ranks are doing";
  EXPECT_THAT(answers_, ElementsAre(unclear, unclear, unclear));
  const std::vector<v1::CollectStacks> looks = Looks();
  ASSERT_EQ(looks.size(), 2U);
  EXPECT_TRUE(looks[0].watch());
  EXPECT_FALSE(looks[0].flight_records());
  EXPECT_FALSE(looks[1].watch());
  EXPECT_TRUE(looks[1].flight_records());
}

TEST_F(DiagnoserTest, AnOlderDiagnosisIsMadeAgain) {
  for (const int time : {5, 25}) AskAt(seconds(time));
  AllExit(seconds(40), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(answers_.size(), 2U);
  EXPECT_EQ(Looks().size(), 4U);
}

TEST_F(DiagnoserTest, ADiagnosisBeginsAgainAfterASuspension) {
  AskAt(seconds(5));
  loop_.After(seconds(7), [this] { loop_.Resumed(); });
  AllExit(seconds(30), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(answers_.size(), 1U);
  EXPECT_EQ(Looks().size(), 4U);
}

TEST_F(DiagnoserTest, TheEndOfTheRanksEndsADiagnosis) {
  AskAt(seconds(5));
  AllExit(seconds(6), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(answers_, ElementsAre("the ranks have ended meanwhile"));
}

// A second look would take as long.
TEST_F(DiagnoserTest, AfterASlowLookConnectionsMayDecide) {
  nodes_[1].stacks = kConnectingRank;
  nodes_[1].stacks_take = seconds(6);
  AskAt(seconds(5));
  AllExit(seconds(40), 0);
  EXPECT_EQ(Run(), 0);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_THAT(answers_[0], HasSubstr("cannot connect to 10.9.9.9:29500: the attempts (SYN)"));
  EXPECT_EQ(Looks().size(), 1U);
}

TEST_F(DiagnoserTest, TheConnectionsOfRanksThatHaveEndedMeanwhileAreJudged) {
  nodes_[1].stacks = kConnectingRank;
  AskAt(seconds(5));
  AllExit(seconds(7), 0);
  EXPECT_EQ(Run(), 0);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_THAT(answers_[0], HasSubstr("cannot connect to 10.9.9.9:29500"));
}

TEST_F(DiagnoserTest, TheReportHasTheDiagnosisOfAJobThatIsStoppedLater) {
  nodes_[1].stacks = kStoppedRank;
  options_.launch.request.set_timeout(60);
  AskAt(seconds(5));
  EXPECT_NE(Run(), 0);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_THAT(answers_[0], HasSubstr("stopped by a signal (state T)"));
  EXPECT_THAT(report_, HasSubstr("; " + answers_[0]));
  EXPECT_THAT(folder_.Read("logs/events.jsonl"), HasSubstr("stopped by a signal (state T)"));
}

// The quick diagnosis of the stall is newer than that for clients, which is old.
TEST_F(DiagnoserTest, AQuickDiagnosisMakesNoOlderOneFresh) {
  nodes_[1].stacks = kStoppedRank;
  options_.launch.request.set_hang_timeout("20");
  options_.launch.request.set_on_hang(v1::ON_HANG_WARN);
  options_.launch.request.set_timeout(60);
  for (const int time : {5, 36}) AskAt(seconds(time));
  EXPECT_NE(Run(), 0);
  EXPECT_EQ(answers_.size(), 2U);
  const std::vector<v1::CollectStacks> looks = Looks();
  ASSERT_GT(looks.size(), 4U);
  EXPECT_EQ(looks[looks.size() - 2].programs(), v1::CollectStacks::PROGRAMS_UNSPECIFIED);
  EXPECT_TRUE(looks.back().flight_records());
}

// A client's diagnosis may know more than the quick one of the stall, which does without gdb.
TEST_F(DiagnoserTest, AStallHasTheCauseThatAClientHasFoundBefore) {
  nodes_[1].stacks = kStoppedRank;
  options_.launch.request.set_hang_timeout("20");
  options_.launch.request.set_on_hang(v1::ON_HANG_WARN);
  options_.launch.request.set_timeout(60);
  AskAt(seconds(5));
  loop_.After(seconds(12), [this] { nodes_[1].stacks.clear(); });
  std::string shown;
  loop_.After(seconds(45), [this, &shown] {
    job_->Requests().snapshots.snapshot({},
                                        [&shown](std::shared_ptr<const v1::JobSnapshot> snapshot) {
                                          for (const v1::Issue& issue : snapshot->issues())
                                            shown += issue.what() + "\n";
                                        });
  });
  EXPECT_NE(Run(), 0);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_THAT(shown, HasSubstr("; " + answers_[0]));
}

// It may have been continued.
TEST_F(DiagnoserTest, OutputRefutesTheDiagnosis) {
  nodes_[1].stacks = kStoppedRank;
  options_.launch.request.set_timeout(60);
  AskAt(seconds(5));
  loop_.After(seconds(20), [this] { nodes_[1].Write(2, "on again\n"); });
  EXPECT_NE(Run(), 0);
  EXPECT_THAT(report_, testing::Not(HasSubstr("stopped by a signal (state T)")));
}

TEST_F(DiagnoserTest, ReportedProgressRefutesTheDiagnosis) {
  nodes_[1].stacks = kStoppedRank;
  options_.launch.request.set_timeout(60);
  AskAt(seconds(5));
  loop_.After(seconds(20), [this] {
    v1::AgentEvent event;
    event.mutable_progress_line()->set_rank(2);
    event.mutable_progress_line()->set_line("{\"step\": 1}");
    nodes_[1].Send(event);
  });
  EXPECT_NE(Run(), 0);
  EXPECT_THAT(report_, testing::Not(HasSubstr("stopped by a signal (state T)")));
}

TEST_F(DiagnoserTest, TheOutputOfRanksThatAreStoppedRefutesNoDiagnosis) {
  nodes_[1].stacks = kStoppedRank;
  nodes_[1].ranks_ignore_stop = true;
  options_.launch.request.set_timeout(60);
  AskAt(seconds(5));
  loop_.After(seconds(70), [this] { nodes_[1].Write(2, "KeyboardInterrupt\n"); });
  EXPECT_NE(Run(), 0);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_THAT(report_, HasSubstr("; " + answers_[0]));
}

// A rank that fails, or the user, stops them between the two looks.
TEST_F(DiagnoserTest, RanksThatAreBeingStoppedAreNotLookedAtAgain) {
  nodes_[1].ranks_ignore_stop = true;
  options_.launch.request.set_hang_timeout("20");
  options_.launch.request.set_on_hang(v1::ON_HANG_WARN);
  options_.launch.request.set_timeout(25);
  loop_.After(seconds(2), [this] { nodes_[1].Write(2, "begins\n"); });
  EXPECT_NE(Run(), 0);
  EXPECT_EQ(Looks().size(), 1U);  // for the hang and the stall
}

TEST_F(DiagnoserTest, ALaterStallIsDiagnosedLater) {
  options_.launch.request.set_hang_timeout("20");
  options_.launch.request.set_on_hang(v1::ON_HANG_WARN);
  options_.launch.request.set_timeout(150);
  for (const int time : {2, 40}) {
    loop_.After(seconds(time), [this] { nodes_[1].Write(2, "goes on\n"); });
  }
  size_t before = 0;
  size_t soon = 0;
  loop_.After(seconds(59), [&] { before = Looks().size(); });
  loop_.After(seconds(80), [&] { soon = Looks().size(); });
  EXPECT_NE(Run(), 0);
  EXPECT_EQ(before, 2U);         // the first one for the hang, too
  EXPECT_EQ(soon, before + 1U);  // for the second hang
  EXPECT_GE(Looks().size(), soon + 2U);
}

TEST_F(DiagnoserTest, TheHangOfAnEarlierAttemptIsNoStallOfTheNextOne) {
  options_.launch.request.set_hang_timeout("20");
  options_.launch.request.set_max_restarts(1);
  int starts = 0;
  nodes_[2].on_start = [&] {
    if (++starts == 2) AllExit(seconds(10), 0);
  };
  loop_.After(seconds(3), [this] { nodes_[1].Write(2, "begins\n"); });
  // Snapshots are made while the next attempt is prepared.
  loop_.After(seconds(10), [this] { nodes_[1].preparing_takes = seconds(10); });
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(starts, 2);
  EXPECT_EQ(Looks().size(), 1U);  // for the hang
  EXPECT_THAT(folder_.Read("logs/events.jsonl"), testing::Not(HasSubstr("goes on after a stall")));
}

// Otherwise the chief would be busy until then.
TEST_F(DiagnoserTest, TheSecondLookAtAHangAwaitsTheLookOfAClient) {
  options_.launch.request.set_hang_timeout("20");
  options_.launch.request.set_on_hang(v1::ON_HANG_WARN);
  options_.launch.request.set_timeout(60);
  loop_.After(seconds(21), [this] { nodes_[1].silent = true; });
  AskAt(seconds(22));
  loop_.After(seconds(26), [this] { nodes_[1].silent = false; });
  EXPECT_NE(Run(), 0);
  EXPECT_EQ(answers_.size(), 1U);
  EXPECT_GE(Looks().size(), 3U);
}

}  // namespace
}  // namespace autodist::chief
