// Uses real FIFOs.
#include "agent/output/progress_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <vector>

#include "rpc/limits.h"
#include "support/limit.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using std::chrono::steady_clock;
using test::kLimit;

class ProgressFilesTest : public testing::Test {
 protected:
  ProgressFilesTest() {
    files_ = *ProgressFiles::Create([this](v1::ProgressLine reported) {
      const std::lock_guard lock(mutex_);
      times_.push_back(steady_clock::now());
      reported_.push_back(std::move(reported));
      changed_.notify_all();
    });
  }
  std::string Path(uint32_t rank) const {
    return folder_.path() + "/progress." + std::to_string(rank);
  }
  void Add(uint32_t rank) {
    const Status added = files_->Add(rank, Path(rank));
    ASSERT_TRUE(added.ok()) << added;
  }
  // Writes like a program that does not know autodist; this must not block.
  void Write(uint32_t rank, const std::string& text) const {
    const base::UniqueFd fd(
        open(Path(rank).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    ASSERT_TRUE(fd.valid());
    ASSERT_TRUE(base::WriteAll(fd.get(), text, base::Deadline::After(kLimit)).ok());
  }
  std::string Await(uint32_t rank, const std::string& line) {
    std::unique_lock lock(mutex_);
    const auto is_there = [&] {
      return !reported_.empty() && reported_.back().rank() == rank &&
             reported_.back().line() == line;
    };
    if (changed_.wait_for(lock, kLimit, is_there)) return line;
    return reported_.empty() ? "nothing" : reported_.back().ShortDebugString();
  }

  const test::TempFolder folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<v1::ProgressLine> reported_;       // guarded by mutex_
  std::vector<steady_clock::time_point> times_;  // guarded by mutex_
  std::unique_ptr<ProgressFiles> files_;
};

TEST_F(ProgressFilesTest, ReportsTheLastLineOfARank) {
  Add(3);
  Add(4);
  Write(3, "{\"step\": 1}\n{\"step\": 2}\n{\"st");
  EXPECT_EQ(Await(3, "{\"step\": 2}"), "{\"step\": 2}") << "not one that has not ended";
  Write(3, "ep\": 3}\n");
  EXPECT_EQ(Await(3, "{\"step\": 3}"), "{\"step\": 3}");
  Write(4, "\xff\n");
  EXPECT_EQ(Await(4, "?"), "?") << "what is no text, neither";
}

TEST_F(ProgressFilesTest, LimitsTheRateOfReports) {
  Add(0);
  constexpr int kLines = 2000;
  for (int i = 1; i <= kLines; ++i) Write(0, "{\"step\": " + std::to_string(i) + "}\n");
  const std::string last = "{\"step\": " + std::to_string(kLines) + "}";
  EXPECT_EQ(Await(0, last), last);
  const std::lock_guard lock(mutex_);
  for (size_t i = 1; i < times_.size(); ++i) {
    EXPECT_GE(times_[i] - times_[i - 1],
              ProgressFiles::kReportInterval - ProgressFiles::kReportInterval / 10);
  }
}

TEST_F(ProgressFilesTest, DropsLinesThatAreTooLong) {
  Add(0);
  Write(0, std::string(rpc::kMaxProgressLength + 1, 'x') + "\nshort\n");
  EXPECT_EQ(Await(0, "short"), "short");
  Write(0, std::string(1 << 20, 'x'));  // more than the FIFO buffers: it is drained
  Write(0, "\n" + std::string(rpc::kMaxProgressLength, 'y') + "\n");
  const std::string longest(rpc::kMaxProgressLength, 'y');
  EXPECT_EQ(Await(0, longest), longest);
}

TEST_F(ProgressFilesTest, FlushReportsAtOnce) {
  Add(0);
  for (int i = 1; i <= 20; ++i) {
    const std::string line = "line " + std::to_string(i);
    Write(0, line + "\n");
    files_->Flush();
    const std::lock_guard lock(mutex_);
    ASSERT_FALSE(reported_.empty());
    EXPECT_EQ(reported_.back().line(), line);
  }
}

TEST_F(ProgressFilesTest, AnotherAttemptStartsOver) {
  Add(0);
  Write(0, "half");
  files_->Begin();
  Add(0);
  Write(0, "whole\n");
  EXPECT_EQ(Await(0, "whole"), "whole");
}

TEST_F(ProgressFilesTest, ReportsThatItCannotCreateAFile) {
  EXPECT_THAT(Message(files_->Add(0, folder_.path() + "/none/progress.0")),
              testing::HasSubstr("/none/progress.0"));
}

}  // namespace
}  // namespace autodist::agent
