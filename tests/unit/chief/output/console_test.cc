#include "chief/output/console.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>

#include "support/plans.h"
#include "support/spool_files.h"
#include "support/temp_folder.h"

namespace autodist::chief {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Replaces a terminal by another file during its life.
class Redirected {
 public:
  Redirected(int fd, const char* path) : fd_(fd), before_(dup(fd)) {
    const base::UniqueFd file(open(path, O_WRONLY | O_CLOEXEC));
    dup2(file.get(), fd_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;
  ~Redirected() { dup2(before_.get(), fd_); }

 private:
  const int fd_;
  const base::UniqueFd before_;
};

class ConsoleTest : public testing::Test {
 protected:
  void SetUp() override { Make({}); }

  void Make(const display::View& view) {
    auto logs = RankLogs::Create(test::ThreeNodePlan(), folder_.path(), view);
    ASSERT_TRUE(logs.ok()) << logs.status();
    logs_ = *std::move(logs);
    console_ = std::make_unique<Console>([this](uint32_t node, const v1::OutputAck& ack) {
      acked_.push_back({node, ack.rank(), ack.offset()});
    });
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
  }
  void Finish() {
    console_->EndLines(logs_);
    console_->Finish();
  }

  void Write(uint32_t rank, const std::string& data,
             v1::OutputStream stream = v1::OUTPUT_STREAM_STDOUT) {
    v1::Output output;
    output.set_rank(rank);
    output.set_stream(stream);
    output.set_offset(offset_[{rank, stream}]);
    output.set_data(data);
    offset_[{rank, stream}] += data.size();
    console_->Write(logs_, 7, std::move(output));
  }

  const test::TempFolder folder_;
  std::shared_ptr<RankLogs> logs_;
  std::map<std::pair<uint32_t, int>, uint64_t> offset_;
  std::vector<std::array<uint64_t, 3>> acked_;  // on the console's thread until Finish
  std::unique_ptr<Console> console_;            // last: its thread uses the others
};

TEST_F(ConsoleTest, LinesAreCompleteAndPrefixed) {
  Write(0, "half");
  Write(2, "a line\nand ");
  Write(0, " a line\n");
  Write(2, "more");
  Finish();
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "[10.0.0.2:2] a line\n[10.0.0.1:0] half a line\n[10.0.0.2:2] and more\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(ConsoleTest, StderrGoesToStderr) {
  Write(4, "out\n");
  Write(4, "err\n", v1::OUTPUT_STREAM_STDERR);
  Finish();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "[node3:4] out\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[node3:4] err\n");
  EXPECT_THAT(logs_->ExcerptOf(4).Lines(display::kStdout), ElementsAre("out"));
  EXPECT_THAT(logs_->ExcerptOf(4).Lines(display::kStderr), ElementsAre("err"));
}

TEST_F(ConsoleTest, StdoutMayHaveNoPrefixes) {
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
  Make({.plain_stdout = true});
  Write(4, "out\n");
  Write(4, "err\n", v1::OUTPUT_STREAM_STDERR);
  Finish();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "out\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[node3:4] err\n");
}

TEST_F(ConsoleTest, StderrOfAFailedRankIsShownEvenIfNotSelected) {
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
  Make({.show = *display::ShownRanks::Parse("none")});
  Write(4, "hidden\n");
  Write(4, "before\nhal", v1::OUTPUT_STREAM_STDERR);
  console_->ShowErrorsOf(logs_, 4);
  Write(4, "f\nafter\n", v1::OUTPUT_STREAM_STDERR);
  Write(0, "of another\n", v1::OUTPUT_STREAM_STDERR);
  Finish();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "[node3:4] before\n[node3:4] half\n[node3:4] after\n");
  EXPECT_THAT(logs_->ExcerptOf(4).Lines(display::kStderr), ElementsAre("before", "half", "after"));
}

TEST_F(ConsoleTest, FilesHaveTheOriginalBytes) {
  const std::string bytes("no end\0\xff\r", 9);
  Write(1, bytes);
  Write(1, "e", v1::OUTPUT_STREAM_STDERR);
  Finish();
  EXPECT_EQ(folder_.Read("rank-1.out"), bytes);
  EXPECT_EQ(folder_.Read("rank-1.err"), "e");
  EXPECT_EQ(folder_.Read("rank-0.out"), "");
  struct stat info;
  ASSERT_EQ(stat((folder_.path() + "/rank-1.out").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
}

TEST_F(ConsoleTest, AcknowledgesWrittenOutput) {
  Write(3, "12345");
  Write(3, "678");
  Finish();
  EXPECT_THAT(acked_,
              ElementsAre(std::array<uint64_t, 3>{7, 3, 5}, std::array<uint64_t, 3>{7, 3, 8}));
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
}

TEST_F(ConsoleTest, KeepsTheLastLines) {
  for (int i = 0; i < 50; ++i) Write(0, "line " + std::to_string(i) + "\n");
  Finish();
  EXPECT_EQ(logs_->ExcerptOf(0).Lines(display::kStdout).size(), 10u);
  EXPECT_EQ(logs_->ExcerptOf(0).LastLine(), "line 49");
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
}

TEST_F(ConsoleTest, AVeryLongLineIsPrintedCompletely) {
  std::string line;
  while (line.size() < 5 << 20) line += std::to_string(line.size()) + " ";
  Write(4, "first\n");
  for (size_t at = 0; at < line.size(); at += 60'000) Write(4, line.substr(at, 60'000));
  Write(0, "between\n");
  Write(4, "!\nlast\n");
  Finish();
  const std::string shown = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(shown ==
              "[node3:4] first\n[10.0.0.1:0] between\n[node3:4] " + line + "!\n[node3:4] last\n")
      << shown.size() << " bytes";
  EXPECT_TRUE(folder_.Read("rank-4.out") == "first\n" + line + "!\nlast\n");
  EXPECT_EQ(logs_->ExcerptOf(4).Lines(display::kStdout)[1], line.substr(0, 400));
  testing::internal::GetCapturedStderr();
}

TEST_F(ConsoleTest, AVeryLongLineWithoutAnEndIsPrintedCompletely) {
  const std::string line(3 << 20, 'x');
  for (size_t at = 0; at < line.size(); at += 1 << 16) Write(0, line.substr(at, 1 << 16));
  Finish();
  EXPECT_TRUE(testing::internal::GetCapturedStdout() == "[10.0.0.1:0] " + line + "\n");
  testing::internal::GetCapturedStderr();
}

TEST_F(ConsoleTest, OutputLostByTheNodeIsReportedAndAcknowledged) {
  v1::Output output;
  output.set_rank(3);
  output.set_stream(v1::OUTPUT_STREAM_STDERR);
  output.set_offset(0);
  output.set_data("x\n");
  output.set_lost(1000);
  output.set_lost_because("the disk is gone");
  console_->Write(logs_, 7, output);
  Finish();
  EXPECT_THAT(logs_->warnings(),
              ElementsAre("1000 bytes that rank 3 wrote are lost: the disk is gone"));
  EXPECT_THAT(acked_, ElementsAre(std::array<uint64_t, 3>{7, 3, 1002}));
  testing::internal::GetCapturedStdout();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("1000 bytes that rank 3 wrote"));
}

TEST_F(ConsoleTest, MessagesKeepTheirPlaceAtASlowTerminal) {
  auto pipe = base::Pipe();
  ASSERT_TRUE(pipe.ok());
  const std::string terminal = "/proc/self/fd/" + std::to_string(pipe->second.get());
  const std::string line(1 << 20, 'x');  // more than a pipe holds
  std::future<std::string> shown;
  {
    const Redirected out(STDOUT_FILENO, terminal.c_str());
    const Redirected err(STDERR_FILENO, terminal.c_str());
    pipe->second.Reset();
    Write(0, line + "\n");
    char first = 0;
    ASSERT_EQ(read(pipe->first.get(), &first, 1),
              1);  // the console waits for the reader from now on
    console_->Log(base::LogLevel::kInfo, "attempt 2");
    Write(0, "a line of attempt 2\n");
    console_->Log(base::LogLevel::kInfo, "rank 0 exited");
    console_->Print("printed");
    shown = std::async(std::launch::async, [&pipe] {
      std::string all;
      char buffer[4096];
      for (ssize_t got; (got = read(pipe->first.get(), buffer, sizeof buffer)) > 0;) {
        all.append(buffer, static_cast<size_t>(got));
      }
      return all;
    });
    Finish();
  }
  EXPECT_EQ(shown.get().substr(line.size() + sizeof "[10.0.0.1:0]"),
            "autodist: attempt 2\n[10.0.0.1:0] a line of attempt 2\n"
            "autodist: rank 0 exited\nprinted\n");
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
}

TEST_F(ConsoleTest, ALogFileOnAFullDiskIsTruncatedAndTheJobContinues) {
  {
    const Redirected ignored(STDERR_FILENO, "/dev/null");  // not limited like a file
    const test::FileSizeLimit limit(50'000);
    for (int i = 0; i < 2; ++i) Write(0, std::string(29'999, 'x'), v1::OUTPUT_STREAM_STDERR);
    Write(0, "more\n");
    Finish();
  }
  EXPECT_THAT(logs_->warnings(),
              ElementsAre(HasSubstr("log of rank 0 is cut short: write: File too large")));
  EXPECT_EQ(folder_.Read("rank-0.err").size(), 50'000u);
  EXPECT_EQ(folder_.Read("rank-0.out"), "more\n");
  EXPECT_EQ(acked_.size(), 3u);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "[10.0.0.1:0] more\n");
  testing::internal::GetCapturedStderr();
}

TEST_F(ConsoleTest, AFullStdoutIsReportedOnceAndTheLogsContinue) {
  {
    const Redirected full(STDOUT_FILENO, "/dev/full");
    Write(0, "one\n");
    Write(0, "err\n", v1::OUTPUT_STREAM_STDERR);
    Write(0, "two\n");
    Finish();
  }
  EXPECT_THAT(console_->warnings(), ElementsAre(HasSubstr("cannot write to stdout (")));
  EXPECT_EQ(folder_.Read("rank-0.out"), "one\ntwo\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("[10.0.0.1:0] err\n"));
}

}  // namespace
}  // namespace autodist::chief
