#include "ssh/ssh_loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>

#include <atomic>
#include <chrono>
#include <semaphore>

#include "base/fd.h"

namespace autodist::ssh {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kLoopLimit{20};

// Does what the test says, and records each call.
class TestPollable final : public Pollable {
 public:
  explicit TestPollable(std::function<bool(TestPollable&)> advance = {})
      : advance_(std::move(advance)) {}

  bool Advance() override {
    deadline = Deadline::Never();
    ++calls;
    const bool more = !advance_ || advance_(*this);
    advanced.release();
    return more;
  }
  Deadline NextDeadline() const override { return deadline; }
  void Abandon() override { abandoned = true; }

  std::counting_semaphore<> advanced{0};
  std::atomic<int> calls{0};
  std::atomic<bool> abandoned{false};
  Deadline deadline = Deadline::Never();  // the loop thread's

 private:
  const std::function<bool(TestPollable&)> advance_;
};

TEST(SshLoopTest, AdvancesOnceAddedAndWhenNudged) {
  const auto loop = *SshLoop::Create();
  const auto pollable = std::make_shared<TestPollable>();
  loop->Add(pollable);
  EXPECT_TRUE(pollable->advanced.try_acquire_for(kLoopLimit));
  loop->Nudge(pollable);
  EXPECT_TRUE(pollable->advanced.try_acquire_for(kLoopLimit));
  EXPECT_EQ(pollable->calls, 2);
}

TEST(SshLoopTest, AdvancesWhenTheDeadlineHasPassed) {
  const auto loop = *SshLoop::Create();
  const auto pollable = std::make_shared<TestPollable>([](TestPollable& self) {
    if (self.calls == 1) self.deadline = Deadline::After(milliseconds(1));
    return true;
  });
  loop->Add(pollable);
  EXPECT_TRUE(pollable->advanced.try_acquire_for(kLoopLimit));
  EXPECT_TRUE(pollable->advanced.try_acquire_for(kLoopLimit));
}

TEST(SshLoopTest, AdvancesWhileADescriptorIsReadyUntilItIsUnwatched) {
  const auto loop = *SshLoop::Create();
  auto pipe = *base::Pipe();
  const int fd = pipe.first.get();
  const auto pollable = std::make_shared<TestPollable>([&loop, fd](TestPollable& self) {
    loop->Watch(fd, self.calls < 3 ? EPOLLIN : 0u, &self);
    return true;
  });
  loop->Add(pollable);
  EXPECT_TRUE(pollable->advanced.try_acquire_for(kLoopLimit));
  EXPECT_EQ(pollable->calls, 1);
  ASSERT_TRUE(base::WriteAll(pipe.second.get(), "x", Deadline::After(kLoopLimit)).ok());
  for (int call : {2, 3}) EXPECT_TRUE(pollable->advanced.try_acquire_for(kLoopLimit)) << call;
  pipe.second.Reset();  // a hang-up, which epoll always reports
  const auto other = std::make_shared<TestPollable>();
  loop->Add(other);
  EXPECT_TRUE(other->advanced.try_acquire_for(kLoopLimit));
  EXPECT_EQ(pollable->calls, 3);
}

TEST(SshLoopTest, AFinishedPollableIsReleased) {
  const auto loop = *SshLoop::Create();
  auto pollable = std::make_shared<TestPollable>([](TestPollable&) { return false; });
  const std::weak_ptr<TestPollable> weak = pollable;
  loop->Add(pollable);
  EXPECT_TRUE(pollable->advanced.try_acquire_for(kLoopLimit));
  pollable.reset();
  loop->Nudge(weak);  // no longer exists
  const auto other = std::make_shared<TestPollable>();
  loop->Add(other);
  EXPECT_TRUE(other->advanced.try_acquire_for(kLoopLimit));
  EXPECT_TRUE(weak.expired());
}

TEST(SshLoopTest, AbandonsTheRest) {
  auto loop = *SshLoop::Create();
  const auto pollable = std::make_shared<TestPollable>();
  loop->Add(pollable);
  EXPECT_TRUE(pollable->advanced.try_acquire_for(kLoopLimit));
  loop.reset();
  EXPECT_TRUE(pollable->abandoned);
  EXPECT_EQ(pollable->calls, 1);
}

}  // namespace
}  // namespace autodist::ssh
