// Uses real pipes and terminals.
#include "agent/input/rank_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>

#include "agent/supervisor/rank_streams.h"
#include "support/limit.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using test::kLimit;

class RankInputTest : public testing::Test {
 protected:
  RankInputTest() {
    signal(SIGPIPE, SIG_IGN);
    input_ = *RankInput::Create([this](const v1::InputTaken& taken) {
      const std::lock_guard lock(mutex_);
      reported_.push_back(taken);
      changed_.notify_all();
    });
  }

  static v1::RankInput Of(const std::string& data, bool end = false) {
    v1::RankInput input;
    input.set_rank(3);
    input.set_data(data);
    input.set_end(end);
    return input;
  }
  // Returns the rank's end.
  base::UniqueFd Add(RankStdin kind) {
    auto streams = RankStreams::Open(kind);
    EXPECT_TRUE(streams.ok()) << streams.status();
    master_ = std::move(streams->ours.out);
    input_->Add(3, std::move(streams->ours.in));
    return std::move(streams->ranks.in);
  }
  static std::string Read(const base::UniqueFd& fd, size_t count) {
    std::string text;
    while (text.size() < count) {
      char piece[4096];
      const auto got = base::ReadSome(fd.get(), piece, std::min(sizeof piece, count - text.size()),
                                      Deadline::After(kLimit));
      if (!got.ok() || *got == 0) break;
      text.append(piece, *got);
    }
    return text;
  }
  // Returns the newest report once it fulfils the condition.
  v1::InputTaken Await(const std::function<bool(const v1::InputTaken&)>& holds) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLimit,
                                  [&] { return !reported_.empty() && holds(reported_.back()); }));
    return reported_.empty() ? v1::InputTaken() : reported_.back();
  }
  size_t reported() {
    const std::lock_guard lock(mutex_);
    return reported_.size();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<v1::InputTaken> reported_;
  base::UniqueFd master_;
  std::unique_ptr<RankInput> input_;
};

TEST_F(RankInputTest, InputBeforeTheRankStartsIsKept) {
  input_->Take(Of("one\n"));
  input_->Take(Of("two\n", true));
  const base::UniqueFd rank = Add(RankStdin::kPipe);
  EXPECT_EQ(Read(rank, 100), "one\ntwo\n");  // including EOF
  const v1::InputTaken taken = Await([](const auto& reported) { return reported.closed(); });
  EXPECT_EQ(taken.rank(), 3u);
  EXPECT_EQ(taken.bytes(), 8u);
}

TEST_F(RankInputTest, ReportsExactlyTheBytesTaken) {
  base::UniqueFd rank = Add(RankStdin::kPipe);
  const std::string all(200'000, 'x');  // more than the pipe buffers
  input_->Take(Of(all));
  Await([](const auto& reported) { return reported.bytes() >= 65'536; });
  EXPECT_LT(Await([](const auto&) { return true; }).bytes(), all.size());
  EXPECT_EQ(Read(rank, all.size()), all);
  EXPECT_EQ(Await([&](const auto& reported) { return reported.bytes() == all.size(); }).closed(),
            false);
}

TEST_F(RankInputTest, ARankThatNoLongerReadsIsReported) {
  base::UniqueFd rank = Add(RankStdin::kPipe);
  rank.Reset();
  input_->Take(Of("unread"));
  EXPECT_EQ(Await([](const auto& reported) { return reported.closed(); }).bytes(), 0u);
  input_->Take(Of("nor that"));
}

TEST_F(RankInputTest, NothingIsReportedAboutAnEndedRank) {
  base::UniqueFd rank = Add(RankStdin::kPipe);
  input_->Remove(3);
  input_->Take(Of("too late", true));
  input_.reset();
  EXPECT_EQ(reported(), 0u);
  EXPECT_EQ(Read(rank, 1), "");
}

TEST_F(RankInputTest, ATerminalHasItsSizeFromTheStart) {
  v1::RankInput sized;
  sized.set_rank(3);
  sized.mutable_size()->set_rows(33);
  sized.mutable_size()->set_columns(111);
  input_->Take(sized);
  const base::UniqueFd rank = Add(RankStdin::kTerminal);
  winsize size{};
  ASSERT_EQ(ioctl(rank.get(), TIOCGWINSZ, &size), 0);
  EXPECT_EQ(size.ws_row, 33);
  EXPECT_EQ(size.ws_col, 111);
  sized.mutable_size()->set_rows(1 << 20);  // exceeds the maximum
  input_->Take(sized);
  ASSERT_EQ(ioctl(rank.get(), TIOCGWINSZ, &size), 0);
  EXPECT_EQ(size.ws_row, 65'535);
}

TEST_F(RankInputTest, ALineAtATerminalIsEdited) {
  const base::UniqueFd rank = Add(RankStdin::kTerminal);
  input_->Take(Of("nexx\x7ft\r"));
  EXPECT_EQ(Read(rank, 5), "next\n");
}

TEST_F(RankInputTest, AnotherAttemptStartsOver) {
  base::UniqueFd first = Add(RankStdin::kPipe);
  input_->Take(Of("of the first", true));
  EXPECT_EQ(Read(first, 100), "of the first");
  Await([](const auto& reported) { return reported.closed(); });
  input_->Begin();
  const base::UniqueFd second = Add(RankStdin::kPipe);
  input_->Take(Of("of the second"));
  EXPECT_EQ(Read(second, 13), "of the second");
  EXPECT_EQ(Await([](const auto& reported) { return !reported.closed(); }).bytes(), 13u);
}

}  // namespace
}  // namespace autodist::agent
