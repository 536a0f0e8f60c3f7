// Progress that ranks report by their output and by AUTODIST_PROGRESS.
#include "chief/output/rank_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/plans.h"
#include "support/temp_folder.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;

class RankLogsTest : public testing::Test {
 protected:
  RankLogsTest() { testing::internal::CaptureStdout(); }
  ~RankLogsTest() override { testing::internal::GetCapturedStdout(); }

  void Create(const display::View& view = {}, const std::string& pattern = "") {
    std::optional<progress::Pattern> parsed;
    if (!pattern.empty()) parsed = progress::Pattern::Parse(pattern).value();
    logs_ = RankLogs::Create(plan_, folder_.path() + "/logs", view, parsed).value();
  }
  void Write(uint32_t rank, const std::string& data) {
    v1::Output output;
    output.set_rank(rank);
    output.set_stream(v1::OUTPUT_STREAM_STDERR);
    output.set_data(data);
    logs_->Take(output, now_, screen_);
  }
  void PassTime(milliseconds time) {
    now_ += time;
    logs_->Update(now_, screen_);
  }

  v1::LaunchPlan plan_ = test::ThreeNodePlan();
  const test::TempFolder folder_;
  RankLogs::Time now_ = RankLogs::Time{} + std::chrono::hours(1);
  display::Screen screen_;
  std::shared_ptr<RankLogs> logs_;
};

TEST_F(RankLogsTest, ARankWithoutOutputHasNoProgress) {
  Create();
  const RankReport reported = logs_->LastReport(1);
  EXPECT_FALSE(reported.progress);
  EXPECT_EQ(reported.last_line, "");
  EXPECT_EQ(reported.last_output_ms, 0);
  EXPECT_EQ(logs_->LastReport(99).last_output_ms, 0) << "nor has one that there is not";
}

TEST_F(RankLogsTest, LinesContainProgress) {
  Create();
  Write(1, "iteration 200/ 1000 | lm loss: 2.3 |\nsaved\n\nhal");
  const RankReport reported = logs_->LastReport(1);
  ASSERT_TRUE(reported.progress);
  EXPECT_EQ(reported.progress->step(), 200u);
  EXPECT_GT(reported.progress->time_ms(), 0);
  EXPECT_EQ(reported.last_line, "saved");
  EXPECT_GT(reported.last_output_ms, 0);
  EXPECT_FALSE(logs_->LastReport(0).progress);
}

TEST_F(RankLogsTest, TheProgramsArgumentsMayContainTheEpochs) {
  v1::RankPlan& rank = *plan_.mutable_nodes(0)->mutable_ranks(1);
  for (const char* argument : {"--epochs", "5"}) rank.add_argv(argument);
  Create();
  Write(1, "Epoch 2:  10%|#         | 1/10 [00:09<00:11, 10.00it/s]\n");
  ASSERT_TRUE(logs_->LastReport(1).progress);
  EXPECT_EQ(logs_->LastReport(1).progress->total(), 50u);
}

// Each version overwrites the one before, and none is a line before the end.
TEST_F(RankLogsTest, BarsAreReadWhileTheyAreDrawn) {
  for (const bool raw : {false, true}) {
    display::View view;
    if (raw) view.raw = 1;
    Create(view);
    for (int step = 0; step < 3; ++step) {
      Write(1, "\r 10%|#         | " + std::to_string(step) + "/100 [00:09<00:11, 10.00it/s]");
      PassTime(milliseconds(100));
    }
    const RankReport reported = logs_->LastReport(1);
    ASSERT_TRUE(reported.progress) << raw;
    EXPECT_EQ(reported.progress->step(), 2u);
    EXPECT_EQ(reported.last_line, " 10%|#         | 2/100 [00:09<00:11, 10.00it/s]");
  }
}

TEST_F(RankLogsTest, TheRateOfReadingABarIsLimited) {
  Create();
  Write(1, "\r 10%|#         | 0/100 [00:09<00:11, 10.00it/s]");
  PassTime(milliseconds(100));
  for (int step = 1; step < 50; ++step) {
    Write(1, "\r 10%|#         | " + std::to_string(step) + "/100 [00:09<00:11, 10.00it/s]");
    PassTime(milliseconds(1));
  }
  EXPECT_EQ(logs_->LastReport(1).progress->step(), 0u);
  EXPECT_TRUE(logs_->Due(screen_)) << "the last version is not forgotten";
  PassTime(milliseconds(100));
  EXPECT_EQ(logs_->LastReport(1).progress->step(), 49u);
}

TEST_F(RankLogsTest, APatternReplacesTheOtherFormats) {
  Create({}, R"(done (?P<step>\d+))");
  Write(1, "iteration 200/ 1000 | lm loss: 2.3 |\n");
  EXPECT_FALSE(logs_->LastReport(1).progress);
  Write(1, "done 5\n");
  EXPECT_EQ(logs_->LastReport(1).progress->source(), "pattern");
}

TEST_F(RankLogsTest, TheProgressFileCounts) {
  Create();
  logs_->TakeProgressLine(1, R"({"step": 7, "loss": 0.5})", now_);
  logs_->TakeProgressLine(99, R"({"step": 7})", now_);
  logs_->TakeProgressLine(2, "nonsense", now_);
  const RankReport reported = logs_->LastReport(1);
  ASSERT_TRUE(reported.progress);
  EXPECT_EQ(reported.progress->step(), 7u);
  EXPECT_EQ(reported.progress->source(), "file");
  EXPECT_FALSE(logs_->LastReport(2).progress);
}

// Pieces of the two streams may arrive in another order than they were written.
TEST_F(RankLogsTest, AnExceptionBeforeFurtherStepsIsInDoubt) {
  struct Row {
    uint64_t steps_ms;  // when they were read; they arrive first
    uint64_t exception_ms;
    bool in_doubt;
  };
  for (const Row& row : {Row{1'000, 999, true}, Row{1'000, 900, true}, Row{1'000, 1'000, true},
                         Row{1'000, 1'005, true}, Row{1'000, 1'050, false}}) {
    Create();
    v1::Output output;
    output.set_rank(1);
    output.set_stream(v1::OUTPUT_STREAM_STDOUT);
    output.set_data("iteration 200/ 1000 | lm loss: 2.3 |\n");
    output.set_read_ms(row.steps_ms);
    logs_->Take(output, now_, screen_);
    output.set_stream(v1::OUTPUT_STREAM_STDERR);
    output.set_data(
        "Traceback (most recent call last):\n"
        "  File \"/work/train.py\", line 5, in main\n"
        "KeyError: 'label'\n");
    output.set_read_ms(row.exception_ms);
    logs_->Take(output, now_, screen_);
    const RankReport report = logs_->LastReport(1);
    EXPECT_EQ(report.failure, "KeyError: 'label', train.py:5");
    EXPECT_EQ(report.failure_in_doubt, row.in_doubt) << row.exception_ms;
  }
}

TEST_F(RankLogsTest, InOneStreamTheOrderIsKnown) {
  Create();
  v1::Output output;
  output.set_rank(1);
  output.set_stream(v1::OUTPUT_STREAM_STDERR);
  output.set_read_ms(1'000);
  const std::string step = "iteration 200/ 1000 | lm loss: 2.3 |\n";
  const std::string exception =
      "Traceback (most recent call last):\n"
      "  File \"/work/train.py\", line 5, in main\n"
      "KeyError: 'label'\n";
  output.set_data(step + exception);
  logs_->Take(output, now_, screen_);
  EXPECT_EQ(logs_->LastReport(1).failure, "KeyError: 'label', train.py:5");
  EXPECT_FALSE(logs_->LastReport(1).failure_in_doubt);
  output.set_data("iteration 201/ 1000 | lm loss: 2.3 |\n");
  logs_->Take(output, now_, screen_);
  EXPECT_EQ(logs_->LastReport(1).failure, "");
}

}  // namespace
}  // namespace autodist::chief
