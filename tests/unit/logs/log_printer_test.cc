#include "logs/log_printer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/temp_folder.h"

namespace autodist::logs {
namespace {

using testing::internal::CaptureStderr;
using testing::internal::CaptureStdout;
using testing::internal::GetCapturedStderr;
using testing::internal::GetCapturedStdout;

v1::JobStatus TwoNodes() {
  v1::JobStatus job;
  v1::NodeStatus& a = *job.add_nodes();
  a.set_address("a");
  a.set_ranks(2);
  v1::NodeStatus& b = *job.add_nodes();
  b.set_address("b");
  b.set_first_rank(2);
  b.set_ranks(1);
  return job;
}

class LogPrinterTest : public testing::Test {
 protected:
  LogPrinterTest() {
    CaptureStdout();
    CaptureStderr();
  }
};

TEST_F(LogPrinterTest, ShowsCompleteLinesWithTheirRank) {
  LogPrinter output({});
  output.SetJob(TwoNodes());
  output.Take({0, display::kStdout, "one\ntw"});
  output.Take({2, display::kStdout, std::string_view("\0\n", 2)});
  output.Take({2, display::kStderr, "bad"});
  output.Take({7, display::kStdout, "who\n"});
  output.Take({0, display::kStdout, "o\n\nthree"});
  output.Flush();
  EXPECT_EQ(GetCapturedStdout(),
            std::string("[a:0] one\n[b:2] \0\n[?:7] who\n[a:0] two\n[a:0] \n", 45));
  EXPECT_EQ(GetCapturedStderr(), "");
  CaptureStdout();
  CaptureStderr();
  output.Finish();
  EXPECT_EQ(GetCapturedStdout(), "[a:0] three\n");
  EXPECT_EQ(GetCapturedStderr(), "[b:2] bad\n");
}

TEST_F(LogPrinterTest, ALineThatNeverEndsIsShownFromItsFile) {
  const test::TempFolder folder;
  folder.Write("rank-1.out", std::string(17 << 20, 'x'));
  v1::JobStatus job = TwoNodes();
  job.set_attempt_folder(folder.path());
  LogPrinter output({});
  output.SetJob(job);
  const std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 17; ++i) output.Take({1, display::kStdout, megabyte});
  output.Finish();
  const std::string shown = GetCapturedStdout();
  EXPECT_EQ(std::ranges::count(shown, 'x'), 17 << 20);
  EXPECT_EQ(std::ranges::count(shown, '\n'), 1);
  (void)GetCapturedStderr();
}

TEST_F(LogPrinterTest, ALongLineAfterASkippedPart) {
  const test::TempFolder folder;
  const std::string line(3 << 20, 'x');
  folder.Write("rank-1.out", "passed over\n" + line + "\n");
  v1::JobStatus job = TwoNodes();
  job.set_attempt_folder(folder.path());
  LogPrinter output({});
  output.SetJob(job);
  LogReader logs(folder.path());
  logs.SkipToLastLines(1);
  logs.ReadAll([&](const display::Output& piece, bool last) { output.Replay(piece, last); });
  output.Finish();
  EXPECT_TRUE(GetCapturedStdout() == "[a:1] " + line + "\n");
  (void)GetCapturedStderr();
}

TEST_F(LogPrinterTest, ReplayedBarsEndAtTheirTimes) {
  LogPrinter output({.prefix = display::PrefixStyle::kRank});
  output.SetJob(TwoNodes());
  const auto at = [](int seconds) { return base::WallTime(std::chrono::seconds(seconds)); };
  output.Replay({0, display::kStdout, "50%\r", at(1)}, false);
  output.Replay({0, display::kStdout, "100%\n", at(2)}, false);
  output.Replay({1, display::kStdout, "other\nun", at(3)}, false);
  output.Replay({1, display::kStdout, "ended", at(4)}, true);
  output.Replay({0, display::kStdout, "next\n", at(5)}, true);
  output.Finish();
  EXPECT_EQ(GetCapturedStdout(), "[0] 100%\n[1] other\n[1] unended\n[0] next\n");
  (void)GetCapturedStderr();
}

TEST_F(LogPrinterTest, RawBytesOfTheSelectedRanks) {
  LogPrinter output({.raw = 1});
  output.SetJob(TwoNodes());
  output.Take({0, display::kStdout, "not this\n"});
  output.Take({1, display::kStdout, std::string_view("a\0b", 3)});
  output.Take({1, display::kStderr, "bad"});
  output.Finish();
  EXPECT_EQ(GetCapturedStdout(), std::string("a\0b", 3));
  EXPECT_EQ(GetCapturedStderr(), "bad");
}

TEST_F(LogPrinterTest, OnlyStderr) {
  LogPrinter output({.only_stderr = true});
  output.SetJob(TwoNodes());
  output.Take({1, display::kStdout, "not this\n"});
  output.Take({1, display::kStderr, "bad\n"});
  output.Finish();
  EXPECT_EQ(GetCapturedStdout(), "[a:1] bad\n");
  EXPECT_EQ(GetCapturedStderr(), "");
}

TEST_F(LogPrinterTest, RanksMayMove) {
  LogPrinter output({});
  output.SetJob(TwoNodes());
  output.Take({1, display::kStdout, "begun"});
  v1::JobStatus job = TwoNodes();
  job.mutable_nodes(0)->set_ranks(1);
  job.mutable_nodes(1)->set_first_rank(1);
  output.SetJob(job);
  output.Take({1, display::kStdout, "again\n"});
  output.Finish();
  EXPECT_EQ(GetCapturedStdout(), "[a:1] begun\n[b:1] again\n");
  (void)GetCapturedStderr();
}

}  // namespace
}  // namespace autodist::logs
