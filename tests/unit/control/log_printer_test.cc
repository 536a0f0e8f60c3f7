#include "control/log_printer.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace autodist::control {
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

TEST_F(LogPrinterTest, ShowsWholeLinesWithTheirRank) {
  LogPrinter output({});
  output.SetJob(TwoNodes());
  output.Take(0, RankStream::kOut, "one\ntw");
  output.Take(2, RankStream::kOut, std::string_view("\0\n", 2));
  output.Take(2, RankStream::kErr, "bad");
  output.Take(7, RankStream::kOut, "who\n");
  output.Take(0, RankStream::kOut, "o\n\nthree");
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

TEST_F(LogPrinterTest, OfALineThatNeverEndsPieces) {
  LogPrinter output({});
  output.SetJob(TwoNodes());
  const std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 17; ++i) output.Take(1, RankStream::kOut, megabyte);
  output.Finish();
  const std::string shown = GetCapturedStdout();
  EXPECT_EQ(std::ranges::count(shown, 'x'), 17 << 20);
  EXPECT_EQ(std::ranges::count(shown, '\n'), 1);
  (void)GetCapturedStderr();
}

TEST_F(LogPrinterTest, RawBytesOfTheRanksWanted) {
  LogPrinter output({.ranks = {1}, .raw = true});
  output.SetJob(TwoNodes());
  output.Take(0, RankStream::kOut, "not this\n");
  output.Take(1, RankStream::kOut, std::string_view("a\0b", 3));
  output.Take(1, RankStream::kErr, "bad");
  output.Finish();
  EXPECT_EQ(GetCapturedStdout(), std::string("a\0b", 3));
  EXPECT_EQ(GetCapturedStderr(), "bad");
}

TEST_F(LogPrinterTest, StderrAlone) {
  LogPrinter output({.ranks = {}, .only_stderr = true});
  output.SetJob(TwoNodes());
  output.Take(1, RankStream::kOut, "not this\n");
  output.Take(1, RankStream::kErr, "bad\n");
  output.Finish();
  EXPECT_EQ(GetCapturedStdout(), "[a:1] bad\n");
  EXPECT_EQ(GetCapturedStderr(), "");
}

TEST_F(LogPrinterTest, RanksMayMove) {
  LogPrinter output({});
  output.SetJob(TwoNodes());
  output.Take(1, RankStream::kOut, "begun");
  v1::JobStatus job = TwoNodes();
  job.mutable_nodes(0)->set_ranks(1);
  job.mutable_nodes(1)->set_first_rank(1);
  output.SetJob(job);
  output.Take(1, RankStream::kOut, "again\n");
  output.Finish();
  EXPECT_EQ(GetCapturedStdout(), "[a:1] begun\n[b:1] again\n");
  (void)GetCapturedStderr();
}

}  // namespace
}  // namespace autodist::control
