#include "agent/output/rank_output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <ctime>
#include <deque>
#include <future>
#include <random>
#include <thread>

#include "agent/supervisor/rank_streams.h"
#include "support/limit.h"
#include "support/spool_files.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using test::kLimit;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kWindow = RankOutput::kWindow;
constexpr int kStdout = v1::OUTPUT_STREAM_STDOUT;
constexpr int kStderr = v1::OUTPUT_STREAM_STDERR;

std::string Bytes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

class RankOutputTest : public testing::Test {
 protected:
  using Key = std::pair<uint32_t, int>;

  void SetUp() override {
    RankOutput::Events events;
    events.changed = [this] {
      const std::lock_guard lock(mutex_);
      ++changes_;
      changed_.notify_all();
    };
    events.warning = [this](const std::string& what) {
      const std::lock_guard lock(mutex_);
      issues_.push_back(what);
    };
    output_ = *RankOutput::Create(std::move(events), folder_.path());
    output_->Begin(1 << 30);
  }

  // Returns the ends of the pipes that belong to the rank.
  std::pair<base::UniqueFd, base::UniqueFd> Add(uint32_t rank) {
    auto out = base::Pipe();
    auto err = base::Pipe();
    EXPECT_TRUE(base::SetNonBlocking(out->first.get()).ok());
    EXPECT_TRUE(base::SetNonBlocking(err->first.get()).ok());
    output_->Add(rank, std::move(out->first), std::move(err->first));
    return {std::move(out->second), std::move(err->second)};
  }
  static void Write(const base::UniqueFd& fd, std::string_view data) {
    const Status written = base::WriteAll(fd.get(), data, base::Deadline::After(kLimit));
    EXPECT_TRUE(written.ok()) << written;
  }

  // Waits for the condition, which is checked after each change.
  template <typename Condition>
  bool Await(Condition condition) {
    for (;;) {
      int seen = 0;
      {
        const std::lock_guard lock(mutex_);
        seen = changes_;
      }
      if (condition()) return true;
      std::unique_lock lock(mutex_);
      if (!changed_.wait_for(lock, kLimit, [&] { return changes_ != seen; })) return false;
    }
  }

  int changes() {
    const std::lock_guard lock(mutex_);
    return changes_;
  }

  // Takes the next piece, if there is one.
  bool Take() {
    const auto piece = output_->Next();
    if (!piece) return false;
    std::string& got = got_[{piece->rank(), piece->stream()}];
    EXPECT_EQ(piece->offset(), got.size());
    got += piece->data();
    order_.push_back(piece->rank());
    return true;
  }
  // Takes pieces until there are this many bytes of rank 0's stdout.
  void TakeUntil(size_t size) {
    EXPECT_TRUE(Await([&] {
      while (got_[{0, kStdout}].size() < size && Take()) {
      }
      return got_[{0, kStdout}].size() >= size;
    }));
  }
  static v1::OutputAck Ack(const Key& stream, uint64_t offset) {
    v1::OutputAck ack;
    ack.set_rank(stream.first);
    ack.set_stream(static_cast<v1::OutputStream>(stream.second));
    ack.set_offset(offset);
    return ack;
  }
  void Acknowledge(uint64_t offset) { output_->Acknowledge(Ack({0, kStdout}, offset)); }

  const test::TempFolder folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int changes_ = 0;                  // guarded by mutex_
  std::vector<std::string> issues_;  // guarded by mutex_
  std::map<Key, std::string> got_;
  std::vector<uint32_t> order_;  // ranks of the pieces
  std::unique_ptr<RankOutput> output_;
};

TEST_F(RankOutputTest, ShortPiecesAreCombined) {
  auto [out, err] = Add(0);
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    const int before = changes();
    Write(out, "x");
    ASSERT_TRUE(Await([&] { return changes() > before; }));  // it has been read
    Take();
  }
  const auto batches = (std::chrono::steady_clock::now() - began) / SendTurns::kBatchInterval;
  TakeUntil(100);
  EXPECT_LE(order_.size(), static_cast<size_t>(batches) + 3);
}

// The end of a progress bar on stderr, a part of which has just been sent, and a line on stdout.
TEST_F(RankOutputTest, OutputIsSentInTheOrderItWasWritten) {
  auto [out, err] = Add(0);
  for (int i = 0; i < 20; ++i) {
    const auto write = [&](const base::UniqueFd& fd, const std::string& text) {
      const int before = changes();
      Write(fd, text);
      ASSERT_TRUE(Await([&] { return changes() > before; }));  // it has been read
    };
    write(err, "bar");
    std::vector<std::string> came;
    const auto await = [&](size_t pieces) {
      ASSERT_TRUE(Await([&] {
        while (auto piece = output_->Next()) came.push_back(piece->data());
        return came.size() >= pieces;
      }));
    };
    await(1);
    write(err, "end");
    write(out, "print");
    await(3);
    EXPECT_THAT(came, ElementsAre("bar", "end", "print"));
  }
}

TEST_F(RankOutputTest, ReportsWhenARankWroteLast) {
  const auto quiet = Add(0);
  const auto loud = Add(1);
  const auto began = std::chrono::steady_clock::now();
  Write(loud.first, "out");
  ASSERT_TRUE(Await([&] { return output_->LastOutput(1).has_value(); }));
  const auto first = output_->LastOutput(1);
  EXPECT_GE(*first, began);
  Write(loud.second, "err");
  EXPECT_TRUE(Await([&] { return output_->LastOutput(1) > first; }));
  EXPECT_FALSE(output_->LastOutput(0));
  EXPECT_FALSE(output_->LastOutput(2));
}

TEST_F(RankOutputTest, LongPiecesAndTheLastOneAreNotDelayed) {
  auto [out, err] = Add(0);
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    Write(out, Bytes(SendTurns::kWorthAMessage, 1));
    TakeUntil(static_cast<size_t>(i + 1) * SendTurns::kWorthAMessage);
    const uint64_t end = got_[{0, kStdout}].size();
    output_->Acknowledge(Ack({0, kStdout}, end));
  }
  Write(out, "the last");
  out.Reset();
  TakeUntil(100 * SendTurns::kWorthAMessage + 8);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 50 * SendTurns::kBatchInterval);
}

TEST_F(RankOutputTest, TerminalEchoIsNotDelayed) {
  auto pipe = base::Pipe();
  ASSERT_TRUE(base::SetNonBlocking(pipe->first.get()).ok());
  output_->Add(0, std::move(pipe->first), base::UniqueFd());
  const auto began = std::chrono::steady_clock::now();
  for (size_t i = 0; i < 100; ++i) {
    Write(pipe->second, "x");
    TakeUntil(i + 1);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, 50 * SendTurns::kBatchInterval);
}

TEST_F(RankOutputTest, OneWindowMayBeUnacknowledged) {
  const auto [out, err] = Add(0);
  const std::string data = Bytes(1 << 20, 1);
  Write(out, data);  // all except what the pipe buffers has been read
  TakeUntil(kWindow);
  EXPECT_EQ(got_[Key(0, kStdout)].size(), kWindow);
  EXPECT_FALSE(output_->Next());
  Acknowledge(100);
  const auto piece = output_->Next();
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->data(), data.substr(kWindow, 100));
  EXPECT_FALSE(output_->Next());
}

TEST_F(RankOutputTest, StreamsTakeTurns) {
  const auto zero = Add(0);
  const auto one = Add(1);
  for (const auto* rank : {&zero, &one}) Write(rank->first, std::string(1 << 20, 'x'));
  ASSERT_TRUE(Await([&] {
    while (order_.size() < 4 && Take()) {
    }
    return order_.size() >= 4;
  }));
  EXPECT_THAT(order_, testing::AnyOf(ElementsAre(0, 1, 0, 1), ElementsAre(1, 0, 1, 0)));
  EXPECT_FALSE(output_->Next());  // the window is shared by all ranks
}

TEST_F(RankOutputTest, ResumeSendsAgainWhatTheChiefLacks) {
  const auto [out, err] = Add(0);
  const std::string data = Bytes(200'000, 2);
  Write(out, data);
  Write(err, "e");
  ASSERT_TRUE(Await([&] {
    while (Take()) {
    }
    return got_[Key(0, kStdout)] == data && got_[Key(0, kStderr)] == "e";
  }));
  v1::Resume resume;
  *resume.add_outputs() = Ack({0, kStdout}, 70'000);  // without stderr
  output_->Resume(resume);
  got_[Key(0, kStdout)].resize(70'000);
  got_[Key(0, kStderr)].clear();
  while (Take()) {
  }
  EXPECT_EQ(got_[Key(0, kStdout)], data);
  EXPECT_EQ(got_[Key(0, kStderr)], "e");
}

TEST_F(RankOutputTest, AnAcknowledgementOfUnsentDataIsIgnored) {
  const auto [out, err] = Add(0);
  Write(out, std::string(1 << 20, 'x'));
  TakeUntil(kWindow);
  Acknowledge(kWindow + 1);
  output_->Acknowledge(Ack({99, kStdout}, 1));
  EXPECT_FALSE(output_->Next());
}

TEST_F(RankOutputTest, AFullSpoolBlocksTheWriter) {
  constexpr size_t kSpool = 100'000;
  output_->Begin(kSpool);
  const auto [out, err] = Add(0);
  const auto pipe_size = static_cast<size_t>(fcntl(out.get(), F_GETPIPE_SZ));
  ASSERT_TRUE(base::SetNonBlocking(out.get()).ok());
  const std::string data(4096, 'x');
  size_t written = 0;
  for (;;) {
    const ssize_t put = write(out.get(), data.data(), data.size());
    if (put > 0) {
      written += static_cast<size_t>(put);
      ASSERT_LE(written, kSpool + pipe_size);
      continue;
    }
    pollfd room{out.get(), POLLOUT, 0};
    if (poll(&room, 1, written < kSpool ? 60'000 : 100) == 0) break;
  }
  EXPECT_GE(written, kSpool);
  TakeUntil(kSpool);
  EXPECT_FALSE(output_->Next());
  Acknowledge(kSpool / 2);
  pollfd room{out.get(), POLLOUT, 0};
  EXPECT_EQ(poll(&room, 1, 60'000), 1);  // the writer continues
}

TEST_F(RankOutputTest, AWriterContinuesWhenTheChiefStopsReadingForTheSecondTime) {
  const auto pipes = Add(0);
  const base::UniqueFd& out = pipes.first;
  ASSERT_TRUE(base::SetNonBlocking(out.get()).ok());
  const std::string data(65'536, 'x');
  size_t written = 0;
  // Writes until this much was read from the pipe: more than is buffered for a chief that does not
  // read.
  const auto write_until = [&](size_t size) {
    while (written < size) {
      const ssize_t put = write(out.get(), data.data(), data.size());
      if (put > 0) written += static_cast<size_t>(put);
      pollfd room{out.get(), POLLOUT, 0};
      if (put < 0 &&
          poll(&room, 1, static_cast<int>(std::chrono::milliseconds(kLimit).count())) != 1)
        return false;
    }
    return true;
  };
  constexpr size_t kMuch = 4 * RankOutput::kAhead;
  ASSERT_TRUE(write_until(kMuch));  // the chief reads none of it
  const auto read_by = base::Deadline::After(kLimit);
  for (int left = 1; left > 0 && !read_by.Expired();) ioctl(out.get(), FIONREAD, &left);
  TakeUntil(1);
  Acknowledge(1);
  EXPECT_TRUE(write_until(2 * kMuch));
}

TEST_F(RankOutputTest, AFullDiskLosesNothingAndIsReported) {
  const test::FileSizeLimit limit(300'000);
  const auto pipes = Add(0);
  const std::string data = Bytes(1'000'000, 3);
  std::jthread writer([&] { Write(pipes.first, data); });
  ASSERT_TRUE(Await([&] {
    const std::lock_guard lock(mutex_);
    return !issues_.empty();
  }));
  EXPECT_THAT(issues_[0],
              testing::MatchesRegex("output of ranks cannot be kept on the disk: a file in .*: "
                                    "writing: File too large; ranks that write more wait "
                                    "until the chief has received it"));
  ASSERT_TRUE(Await([&] {
    while (Take()) Acknowledge(got_[{0, kStdout}].size());
    return got_[Key(0, kStdout)].size() == data.size();
  }));
  EXPECT_TRUE(got_[Key(0, kStdout)] == data);
}

TEST_F(RankOutputTest, DataThatCannotBeReadBackIsReportedAsLost) {
  auto pipes = Add(0);
  Write(pipes.first, std::string(1 << 20, 'x'));
  ASSERT_TRUE(Await([&] {
    int in_the_pipe = 0;
    return ioctl(pipes.first.get(), FIONREAD, &in_the_pipe) == 0 && in_the_pipe == 0;
  }));
  TakeUntil(kWindow);
  ASSERT_EQ(ftruncate(test::FileOfOursIn(folder_.path()), 0), 0);
  pipes.first.Reset();
  pipes.second.Reset();
  output_->Finish();
  Acknowledge(kWindow);
  uint64_t lost = 0;
  ASSERT_TRUE(Await([&] {
    while (const auto piece = output_->Next()) {
      EXPECT_NE(piece->lost_because(), "");
      EXPECT_EQ(piece->data(), "");
      lost += piece->lost();
      Acknowledge(piece->offset() + piece->lost());
    }
    return output_->Drained();
  }));
  EXPECT_EQ(lost, (1 << 20) - kWindow);
}

TEST_F(RankOutputTest, OutputEndsWhenAllHasBeenAcknowledged) {
  const auto [out, err] = Add(0);  // a leftover process could still write
  Write(out, "the end");
  EXPECT_FALSE(output_->Drained());
  output_->Finish();
  TakeUntil(7);
  EXPECT_FALSE(output_->Drained());
  Acknowledge(7);
  EXPECT_TRUE(Await([&] { return output_->Drained(); }));
}

TEST_F(RankOutputTest, OutputEndsEvenAfterTheSpoolWasFull) {
  output_->Begin(1000);
  auto [out, err] = Add(0);
  Write(out, std::string(20'000, 'x'));  // what the spool refuses stays in the pipe
  output_->Finish();
  ASSERT_TRUE(Await([&] {
    while (Take()) Acknowledge(got_[{0, kStdout}].size());
    return output_->Drained();
  }));
  EXPECT_EQ(got_[Key(0, kStdout)].size(), 20'000u);
}

// A terminal is one stream, and its writers have another descriptor than the one read here.
TEST_F(RankOutputTest, ATerminalWithAnEndedRankUsesNoCpu) {
  RankStreams terminal = *RankStreams::Open(RankStdin::kTerminal);
  output_->Add(0, std::move(terminal.ours.out), {});
  Write(terminal.ranks.out, "last words\n");
  terminal.ranks = {};
  TakeUntil(std::string_view("last words\r\n").size());
  EXPECT_EQ((got_[{0, kStdout}]), "last words\r\n");
  output_->Finish();
  output_->Acknowledge(Ack({0, kStdout}, 12));
  EXPECT_TRUE(Await([&] { return output_->Drained(); }));
  constexpr std::chrono::milliseconds kMeasured{300};
  const std::clock_t before = std::clock();  // of all threads
  (void)poll(nullptr, 0, static_cast<int>(kMeasured.count()));
  EXPECT_LT((std::clock() - before) * 1000 / CLOCKS_PER_SEC, kMeasured.count() / 3);
}

TEST_F(RankOutputTest, AnAttemptStartsWithoutTheOutputOfThePreviousOne) {
  const auto [out, err] = Add(0);
  Write(out, std::string(200'000, 'x'));
  TakeUntil(100);
  output_->Begin(1 << 20);
  EXPECT_FALSE(output_->Next());
  got_.clear();
  const auto [again, error] = Add(0);
  Write(again, "new");
  TakeUntil(3);
  EXPECT_EQ(got_[Key(0, kStdout)], "new");
}

// The thread was busy between the end of an attempt and the start of the next one.
TEST_F(RankOutputTest, TheEndOfAnAttemptDoesNotReadTheNextOneToItsEnd) {
  std::unique_lock busy(mutex_);  // its next change blocks
  auto ended = base::Pipe();
  ASSERT_TRUE(base::SetNonBlocking(ended->first.get()).ok());
  output_->Add(0, std::move(ended->first), {});
  ended->second.Reset();
  output_->Finish();
  const auto limit = base::Deadline::After(kLimit);
  while (!output_->Drained() && !limit.Expired()) std::this_thread::yield();
  ASSERT_TRUE(output_->Drained());
  output_->Begin(1 << 20);
  auto [out, err] = Add(0);
  Write(out, "new");
  busy.unlock();
  auto taken = std::async(std::launch::async, [this] { TakeUntil(3); });
  EXPECT_EQ(taken.wait_for(kLimit), std::future_status::ready) << "the thread spins";
  out.Reset();
  err.Reset();
}

// Simulates the chief's side of connections that break at random.
TEST_F(RankOutputTest, SixtyFourMebibytesArriveDespiteBreaks) {
  constexpr size_t kSize = 16 << 20;
  std::mt19937 random(64);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  output_->Begin(600'000);
  const std::vector<Key> streams = {{0, kStdout}, {0, kStderr}, {300, kStdout}, {300, kStderr}};
  std::vector<std::string> sent;
  auto zero = Add(0);
  auto other = Add(300);
  std::vector<std::jthread> writers;
  for (auto* fd : {&zero.first, &zero.second, &other.first, &other.second}) {
    sent.push_back(Bytes(kSize, static_cast<uint32_t>(sent.size())));
    writers.emplace_back([fd, data = sent.back()] {
      Write(*fd, data);
      fd->Reset();
    });
  }
  std::map<Key, uint64_t> acknowledged;
  std::deque<v1::Output> on_their_way;
  const auto arrive = [&] {
    const v1::Output piece = std::move(on_their_way.front());
    on_their_way.pop_front();
    std::string& got = got_[{piece.rank(), piece.stream()}];
    ASSERT_EQ(piece.offset(), got.size());
    got += piece.data();
  };
  const auto acknowledge = [&](const Key& stream, uint64_t bytes) {
    output_->Acknowledge(Ack(stream, acknowledged[stream] += bytes));
  };
  ASSERT_TRUE(Await([&] {
    while (auto piece = output_->Next()) {
      on_their_way.push_back(*std::move(piece));
      if (below(3) > 0 && !on_their_way.empty()) arrive();
      const Key& stream = streams[below(streams.size())];
      acknowledge(stream, below(got_[stream].size() - acknowledged[stream] + 1));
      if (below(200) > 0) continue;
      on_their_way.clear();  // the connection breaks
      v1::Resume resume;
      for (const Key& each : streams) *resume.add_outputs() = Ack(each, got_[each].size());
      for (const Key& each : streams) acknowledged[each] = got_[each].size();
      output_->Resume(resume);
    }
    while (!on_their_way.empty()) arrive();
    for (const Key& each : streams) acknowledge(each, got_[each].size() - acknowledged[each]);
    return std::ranges::all_of(streams,
                               [&](const Key& each) { return got_[each].size() == kSize; });
  }));
  output_->Finish();
  EXPECT_TRUE(Await([&] { return output_->Drained(); }));
  for (size_t i = 0; i < streams.size(); ++i) EXPECT_TRUE(got_[streams[i]] == sent[i]) << i;
  EXPECT_THAT(issues_, IsEmpty());
}

}  // namespace
}  // namespace autodist::agent
