#include "chief/input/terminal_input.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>

#include "support/limit.h"

namespace autodist::chief {
namespace {

// Uses a pipe as stdin.
class StdinReaderTest : public testing::Test {
 protected:
  StdinReaderTest() : stdin_before_(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)) {
    base::FdPair pipe = *base::Pipe();
    dup2(pipe.first.get(), STDIN_FILENO);
    in_ = std::move(pipe.second);
    StdinReader::Events events;
    events.bytes = [this](const std::string& bytes) {
      const std::lock_guard lock(mutex_);
      read_ += bytes;
      ++pieces_;
      changed_.notify_all();
      return bytes.size() - static_cast<size_t>(std::ranges::count(bytes, '~'));
    };
    events.end = [this] {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    };
    events.resized = [](const v1::TerminalSize&) {};
    reader_ = *StdinReader::Start(std::move(events));
  }
  ~StdinReaderTest() override {
    reader_.reset();
    dup2(stdin_before_.get(), STDIN_FILENO);
  }

  void Write(const std::string& data) {
    EXPECT_TRUE(base::WriteAll(in_.get(), data, base::Deadline::After(test::kLimit)).ok());
  }
  bool Await(const std::function<bool()>& holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, test::kLimit, holds);
  }
  size_t read() {
    const std::lock_guard lock(mutex_);
    return read_.size();
  }

  base::UniqueFd stdin_before_;
  base::UniqueFd in_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string read_;
  size_t pieces_ = 0;
  bool ended_ = false;
  std::unique_ptr<StdinReader> reader_;
};

TEST_F(StdinReaderTest, ReadsAheadOnlyToTheLimit) {
  Write(std::string(StdinReader::kAhead, 'x'));
  EXPECT_TRUE(Await([&] { return read_.size() == StdinReader::kAhead; }));
  Write("more");
  in_.Reset();
  EXPECT_EQ(read(), StdinReader::kAhead);
  reader_->Taken(4);
  EXPECT_TRUE(Await([&] { return read_.size() == StdinReader::kAhead + 4; }));
  reader_->Taken(1 << 30);  // an invalid report
  EXPECT_TRUE(Await([&] { return ended_; }));
}

TEST_F(StdinReaderTest, SmallPiecesAreLimitedInNumber) {
  for (size_t i = 1; i <= StdinReader::kMaxPieces; ++i) {
    Write("x");
    ASSERT_TRUE(Await([&] { return read_.size() == i; }));
  }
  for (int i = 0; i < 100; ++i) Write("y");
  EXPECT_EQ(read(), StdinReader::kMaxPieces);
  reader_->Taken(1);
  EXPECT_TRUE(Await([&] { return read_.size() == StdinReader::kMaxPieces + 100; }));
  EXPECT_EQ(pieces_, StdinReader::kMaxPieces + 1);  // they came as one
}

TEST_F(StdinReaderTest, BytesNotForTheRankNeedNoAcknowledgement) {
  for (size_t i = 1; i <= 2 * StdinReader::kMaxPieces; ++i) {
    Write("~");
    ASSERT_TRUE(Await([&] { return read_.size() == i; }));
  }
}

}  // namespace
}  // namespace autodist::chief
