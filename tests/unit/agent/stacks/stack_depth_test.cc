#include "agent/stacks/stack_depth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "support/limit.h"

namespace autodist::agent {
namespace {

using testing::IsEmpty;
using testing::MatchesRegex;

// Recursive, so that the waits of the same function have different depths.
__attribute__((noinline)) int WaitBelow(int calls) {
  volatile int own = calls;
  if (calls > 0) return WaitBelow(calls - 1) + own;
  sleep(1'000'000);
  return own;
}

// Children of this process; they end with the test.
class StackDepthTest : public testing::Test {
 protected:
  ~StackDepthTest() override {
    for (const pid_t pid : children_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }

  template <typename Run>
  pid_t Fork(const Run& run) {
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      run();
      _exit(0);
    }
    EXPECT_GT(pid, 0);
    if (pid > 0) children_.push_back(pid);
    return pid;
  }

  static void AwaitText(const std::string& file, const std::string& text) {
    const base::Deadline deadline = base::Deadline::After(test::kLimit);
    while (base::ReadFile(file, 100).value_or("").find(text) == std::string::npos) {
      ASSERT_FALSE(deadline.Expired());
      std::this_thread::yield();
    }
  }

  std::string DepthOfChild(int calls) {
    const pid_t pid = Fork([calls] { WaitBelow(calls); });
    const std::string folder = "/proc/" + std::to_string(pid);
    AwaitText(folder + "/wchan", "nanosleep");
    const auto position = PositionOf(folder);
    return position ? DepthText(*position, folder) : "unknown";
  }

 private:
  std::vector<pid_t> children_;
};

TEST_F(StackDepthTest, IsTheSameInTheSamePlace) {
  const std::string depth = DepthOfChild(2);
  EXPECT_THAT(depth, MatchesRegex("stack: [0-9]+ bytes deep, at [0-9a-f]+, code [0-9a-f]+"));
  EXPECT_EQ(DepthOfChild(2), depth);
  const std::string deeper = DepthOfChild(12);
  EXPECT_NE(deeper, depth);
  EXPECT_EQ(deeper.substr(deeper.find(", at ")), depth.substr(depth.find(", at ")));
}

TEST_F(StackDepthTest, IsUnknownOutsideOfSystemCalls) {
  const pid_t pid = Fork([] {
    for (;;) asm volatile("");
  });
  const std::string folder = "/proc/" + std::to_string(pid);
  AwaitText(folder + "/syscall", "running");
  EXPECT_FALSE(PositionOf(folder));
  EXPECT_FALSE(PositionOf("/proc/0"));
  EXPECT_THAT(DepthText({}, "/proc/0"), IsEmpty());
}

}  // namespace
}  // namespace autodist::agent
