
#include <gtest/gtest.h>

#include <vector>

#include "issues/issue_detector.h"
#include "issues/thresholds.h"

namespace autodist::issues {
namespace {

constexpr int64_t kStart = 1'000'000;

// A job of two ranks that make their steps together.
class StepWatchTest : public testing::Test {
 protected:
  StepWatchTest() {
    snapshot_.mutable_job()->set_phase(v1::JOB_PHASE_RUNNING);
    snapshot_.set_time_ms(kStart);
    for (uint32_t number = 0; number < 2; ++number) {
      v1::RankSnapshot& rank = *snapshot_.add_ranks();
      rank.set_rank(number);
      rank.set_state(v1::RANK_STATE_RUNNING);
    }
  }

  // Makes this number of steps of this duration, with an update every two seconds.
  void Steps(int number, int64_t each_ms) {
    for (int i = 0; i < number; ++i) {
      Pass(each_ms);
      ++step_;
      Report(1000.0 / static_cast<double>(each_ms));
    }
    Update();
  }
  void Report(double rate) {
    for (v1::RankSnapshot& rank : *snapshot_.mutable_ranks()) {
      rank.mutable_progress()->set_step(step_);
      rank.mutable_progress()->set_rate(rate);
      rank.mutable_progress()->set_time_ms(snapshot_.time_ms());
    }
    *snapshot_.mutable_progress() = snapshot_.ranks(0).progress();
  }
  void Pass(int64_t ms) {
    for (int64_t left = ms; left > 0; left -= 100) {
      snapshot_.set_time_ms(snapshot_.time_ms() + std::min<int64_t>(left, 100));
      if ((snapshot_.time_ms() - kStart) % 2'000 == 0) Update();
    }
  }
  void Update() { watch_.Update(snapshot_, other_work_ms_); }
  bool Stalled() {
    Update();
    return watch_.standstill().has_value();
  }

  v1::JobSnapshot snapshot_;
  StepWatch watch_;
  uint64_t step_ = 0;
  int64_t other_work_ms_ = 0;
};

TEST_F(StepWatchTest, AJobWithoutStepsForTenTimesItsStepTimeIsStalled) {
  Steps(60, 1'000);
  EXPECT_FALSE(Stalled());
  const int64_t last = snapshot_.time_ms();
  Pass(9'000);
  EXPECT_FALSE(Stalled());
  Pass(2'000);
  ASSERT_TRUE(Stalled());
  EXPECT_EQ(watch_.standstill()->since_ms, last);
  EXPECT_NEAR(watch_.standstill()->usual_ms, 1'000, 50);
  Pass(600'000);
  EXPECT_TRUE(Stalled());
  Steps(1, 100);
  EXPECT_FALSE(Stalled()) << "it goes on";
}

TEST_F(StepWatchTest, LongStepsHaveMoreTime) {
  Steps(20, 5'000);
  Pass(40'000);
  EXPECT_FALSE(Stalled());
  Pass(15'000);
  EXPECT_TRUE(Stalled());
}

TEST_F(StepWatchTest, AFastJobHasTenSeconds) {
  Steps(100, 100);
  Pass(8'000);
  EXPECT_FALSE(Stalled());
  Pass(2'100);
  EXPECT_TRUE(Stalled());
}

TEST_F(StepWatchTest, RarelyReportedStepsHaveTheTimeOfThreeReports) {
  for (int i = 0; i < 6; ++i) {
    Pass(20'000);
    step_ += 100;
    Report(5);
  }
  Pass(50'000);
  EXPECT_FALSE(Stalled());
  Pass(20'000);
  EXPECT_TRUE(Stalled());
}

TEST_F(StepWatchTest, IndeterminateTimesAreNoStandstill) {
  Steps(60, 1'000);
  Pass(30'000);
  snapshot_.mutable_ranks(1)->mutable_sample()->set_written(5e6);
  EXPECT_FALSE(Stalled()) << "it saves a checkpoint";
  snapshot_.mutable_ranks(1)->mutable_sample()->set_written(0);
  Pass(8'000);
  EXPECT_FALSE(Stalled()) << "it has just done so";
  Pass(3'000);
  EXPECT_TRUE(Stalled());
  other_work_ms_ = snapshot_.time_ms();
  EXPECT_FALSE(Stalled()) << "it evaluates";
  Pass(11'000);
  EXPECT_TRUE(Stalled());
  snapshot_.add_nodes()->set_phase(v1::NODE_PHASE_RECONNECTING);
  EXPECT_FALSE(Stalled()) << "a node is away";
}

TEST_F(StepWatchTest, UnreadOutputMayContainSteps) {
  Steps(60, 1'000);
  Pass(30'000);
  snapshot_.mutable_ranks(0)->set_last_output_ms(snapshot_.time_ms() - 30'000);
  snapshot_.mutable_job()->set_last_output_ms(snapshot_.time_ms() - 20'000);
  EXPECT_FALSE(Stalled());
}

TEST_F(StepWatchTest, OneActiveRankIsEnough) {
  Steps(60, 1'000);
  for (int i = 0; i < 30; ++i) {
    Pass(1'000);
    snapshot_.mutable_ranks(1)->mutable_progress()->set_step(step_ + static_cast<uint64_t>(i));
    snapshot_.mutable_ranks(1)->mutable_progress()->set_time_ms(snapshot_.time_ms());
  }
  EXPECT_FALSE(Stalled());
}

TEST_F(StepWatchTest, AnEndingOrFinishedJobHasNoIssue) {
  Steps(60, 1'000);
  snapshot_.mutable_progress()->set_total(60);
  Pass(100'000);
  EXPECT_FALSE(Stalled());
  snapshot_.mutable_progress()->clear_total();
  EXPECT_TRUE(Stalled());
  snapshot_.mutable_job()->set_phase(v1::JOB_PHASE_STOPPING);
  EXPECT_FALSE(Stalled());
  snapshot_.mutable_job()->set_phase(v1::JOB_PHASE_RUNNING);
  snapshot_.mutable_job()->set_attempt(1);
  for (v1::RankSnapshot& rank : *snapshot_.mutable_ranks()) rank.clear_progress();
  EXPECT_FALSE(Stalled()) << "another attempt";
}

TEST_F(StepWatchTest, ASingleReportOfStepsIsNotEnough) {
  step_ = 1;
  Report(0);
  Pass(1'000'000);
  EXPECT_FALSE(Stalled());
}

TEST_F(StepWatchTest, AJobThatBecameSlower) {
  Steps(60, 1'000);
  EXPECT_FALSE(watch_.slowdown());
  const int64_t slow_since = snapshot_.time_ms();
  Steps(6, 4'000);
  EXPECT_FALSE(watch_.slowdown()) << "not for long enough";
  Steps(6, 4'000);
  ASSERT_TRUE(watch_.slowdown());
  EXPECT_NEAR(watch_.slowdown()->step_ms, 4'000, 100);
  EXPECT_NEAR(watch_.slowdown()->before_ms, 1'000, 100);
  EXPECT_NEAR(static_cast<double>(watch_.slowdown()->since_ms), static_cast<double>(slow_since),
              4'000);
  Steps(1000, 4'000);
  EXPECT_TRUE(watch_.slowdown()) << "as long as it is so";
  Pass(60'000);
  EXPECT_TRUE(Stalled());
  EXPECT_FALSE(watch_.slowdown()) << "it is worse than slow";
  Steps(20, 1'000);
  EXPECT_FALSE(watch_.slowdown());
}

TEST_F(StepWatchTest, SmallDifferencesAndPausesAreNoSlowdown) {
  Steps(60, 1'000);
  Steps(60, 1'500);
  EXPECT_FALSE(watch_.slowdown()) << "two thirds of the rate";
  for (int i = 0; i < 10; ++i) {
    Pass(40'000);  // an evaluation
    Steps(10, 1'000);
    EXPECT_FALSE(watch_.slowdown());
  }
}

TEST_F(StepWatchTest, AShortStartIsNotCompared) {
  Steps(10, 1'000);
  Steps(30, 4'000);
  EXPECT_FALSE(watch_.slowdown());
}

TEST_F(StepWatchTest, CreatesIssuesForBoth) {
  IssueDetector issues;
  const auto look = [&] { return issues.Detect(snapshot_); };
  for (int i = 0; i < 60; ++i) {
    Steps(1, 960);
    (void)look();
  }
  EXPECT_TRUE(look().empty());
  for (int i = 0; i < 12; ++i) {
    Steps(1, 3'840);
    (void)look();
  }
  auto found = look();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind(), v1::Issue::KIND_SLOW);
  EXPECT_EQ(found[0].what().substr(0, found[0].what().find("before ")),
            "steps take 3.8 s, 4.0 times as long as ");
  snapshot_.set_time_ms(snapshot_.time_ms() + 140'000);
  found = look();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind(), v1::Issue::KIND_STALLED);
  EXPECT_EQ(found[0].what(), "stalled: no step for 2 min 20 s; usually 3.8 s");
  EXPECT_EQ(found[0].since_ms(), snapshot_.time_ms() - 140'000);
}

TEST(StandstillTest, HangingRanksAreAStandstillWithoutSteps) {
  v1::JobSnapshot snapshot;
  snapshot.set_time_ms(kStart);
  const auto found = IssueDetector().Detect(snapshot, {.silent_since_ms = kStart - 65'000});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].what(), "stalled: no rank showed activity for 1 min 5 s");
}

TEST(StepTimeTextTest, HasTwoOrThreeDigits) {
  for (const auto& [ms, text] :
       std::vector<std::pair<double, const char*>>{{0.2, "1 ms"},
                                                   {12, "12 ms"},
                                                   {100, "0.10 s"},
                                                   {960, "0.96 s"},
                                                   {999.9, "1 s"},
                                                   {4'100, "4.1 s"},
                                                   {41'000, "41 s"},
                                                   {140'000, "2 min 20 s"}}) {
    EXPECT_EQ(StepTimeText(ms), text);
  }
}

}  // namespace
}  // namespace autodist::issues
