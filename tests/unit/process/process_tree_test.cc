#include "process/process_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <string>

#include "base/wall_clock.h"

namespace autodist::process {
namespace {

using std::chrono::seconds;

class ProcessTreeTest : public testing::TestWithParam<TreeSource> {
 protected:
  ProcessTreeTest() { AdoptOrphans(); }

  static bool Found(pid_t pid, const std::vector<pid_t>& in) {
    return std::ranges::find(in, pid) != in.end();
  }
};

INSTANTIATE_TEST_SUITE_P(Sources, ProcessTreeTest,
                         testing::Values(TreeSource::kChildLists, TreeSource::kAllProcesses),
                         [](const auto& source) {
                           return source.param == TreeSource::kChildLists ? "ChildLists"
                                                                          : "AllProcesses";
                         });

TEST_P(ProcessTreeTest, FindsGrandchildrenInOtherSessions) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      setsid();
      prctl(PR_SET_NAME, ") S 1 (x y");
      const pid_t self = getpid();
      (void)!write(ready[1], &self, sizeof self);
    }
    pause();
    _exit(0);
  }
  pid_t grandchild = 0;
  ASSERT_EQ(read(ready[0], &grandchild, sizeof grandchild), ssize_t{sizeof grandchild});
  std::vector<pid_t> found = Descendants(getpid(), GetParam());
  EXPECT_TRUE(Found(child, found));
  EXPECT_TRUE(Found(grandchild, found));
  EXPECT_FALSE(Found(getpid(), found));
  EXPECT_FALSE(Found(getppid(), found));
  EXPECT_EQ(Descendants(child, GetParam()), std::vector{grandchild});
  EXPECT_TRUE(Descendants(grandchild, GetParam()).empty());

  // An orphan stays our descendant.
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  found = Descendants(getpid(), GetParam());
  EXPECT_TRUE(Found(grandchild, found));
  kill(grandchild, SIGKILL);
  EXPECT_EQ(waitpid(grandchild, nullptr, 0), grandchild);
  close(ready[0]);
  close(ready[1]);
}

pid_t Sleeper() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    for (;;) pause();
  }
  return child;
}

TEST(IsDescendantTest, OnlyAProcessBelowTheAncestor) {
  AdoptOrphans();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = Sleeper();
    (void)!write(ready[1], &grandchild, sizeof grandchild);
    for (;;) pause();
  }
  pid_t grandchild = 0;
  ASSERT_EQ(read(ready[0], &grandchild, sizeof grandchild), ssize_t{sizeof grandchild});
  for (const pid_t pid : {child, grandchild}) EXPECT_TRUE(IsDescendant(pid, getpid()));
  EXPECT_FALSE(IsDescendant(child, grandchild));
  EXPECT_FALSE(IsDescendant(getppid(), getpid()));
  for (const pid_t pid : {child, grandchild}) {
    kill(pid, SIGKILL);
    ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
    EXPECT_FALSE(IsDescendant(pid, getpid()));
  }
  close(ready[0]);
  close(ready[1]);
}

TEST(StartOfTest, TheTimeOfTheFork) {
  const int64_t before = base::MillisecondsSince1970();
  const pid_t child = Sleeper();
  const int64_t after = base::MillisecondsSince1970();
  constexpr int64_t kTick = 100;  // milliseconds, at the lowest resolution
  EXPECT_GE(StartOf(child), before - kTick);
  EXPECT_LE(StartOf(child), after + kTick);
  EXPECT_LE(StartOf(getpid()), before + kTick);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(StartOf(child), 0);
}

// Eight processes in different sessions, which end only if they are killed.
class Eight {
 public:
  Eight() {
    int alive[2];
    EXPECT_EQ(pipe(alive), 0);
    if (fork() == 0) {
      close(alive[0]);
      for (int i = 0; i < 3; ++i) {
        if (fork() == 0) setsid();
      }
      (void)!write(alive[1], "x", 1);
      alarm(60);  // if the test hangs
      for (;;) pause();
    }
    close(alive[1]);
    alive_ = alive[0];
    char byte = 0;
    for (int i = 0; i < 8; ++i) EXPECT_EQ(read(alive_, &byte, 1), 1);
  }
  Eight(const Eight&) = delete;
  Eight& operator=(const Eight&) = delete;
  ~Eight() {
    close(alive_);
    while (wait(nullptr) > 0) continue;
  }

  void AwaitEnd() const {
    char byte = 0;
    EXPECT_EQ(read(alive_, &byte, 1), 0);  // all writers have closed
  }

 private:
  int alive_ = -1;
};

TEST_P(ProcessTreeTest, KillsAllDescendants) {
  const Eight eight;
  KillDescendants(getpid(), GetParam());
  eight.AwaitEnd();
}

// The kernel gives the next process the number after this one, unless others start meanwhile.
bool SetLastNumber(pid_t pid) {
  const int file = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
  const std::string number = std::to_string(pid);
  const bool set = write(file, number.data(), number.size()) > 0;
  close(file);
  return set;
}

TEST(SignalTest, AProcessThatGetsTheNumberMeanwhileIsSpared) {
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const pid_t meant = Sleeper();
    pid_t other = 0;
    const bool sent = Signal(meant, SIGKILL, [&] {
      kill(meant, SIGKILL);
      EXPECT_EQ(waitpid(meant, nullptr, 0), meant);
      if (!SetLastNumber(meant - 1)) return false;
      other = Sleeper();
      return true;
    });
    if (other == 0) GTEST_SKIP() << "takes root";
    const bool spared = waitpid(other, nullptr, WNOHANG) == 0;
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
    if (other != meant) continue;
    EXPECT_FALSE(sent);
    EXPECT_TRUE(spared);
    return;
  }
  FAIL() << "no process got the number";
}

TEST(SignalTest, OnlyTheProcessThatIsMeant) {
  const pid_t child = Sleeper();
  EXPECT_FALSE(Signal(child, SIGKILL, [] { return false; }));
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0);
  EXPECT_TRUE(Signal(child, SIGKILL, [] { return true; }));
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(Signal(child, SIGKILL, [] { return true; }));
}

// Each process creates the next one and exits, like a program that tries to escape.
class ForkChain {
 public:
  static constexpr int kEscaped = 1'000'000;

  ForkChain()
      : made_(static_cast<std::atomic<int>*>(mmap(nullptr, sizeof(std::atomic<int>),
                                                  PROT_READ | PROT_WRITE,
                                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    const time_t end = std::time(nullptr) + kLimit.count();
    if (fork() != 0) return;
    while (made_->fetch_add(1) < kEscaped && std::time(nullptr) < end) {
      if (fork() != 0) _exit(0);
    }
    *made_ = kEscaped;
    _exit(0);
  }
  ForkChain(const ForkChain&) = delete;
  ForkChain& operator=(const ForkChain&) = delete;
  ~ForkChain() {
    *made_ = kEscaped;
    while (wait(nullptr) > 0) continue;
    munmap(made_, sizeof *made_);
  }

  int made() const { return *made_; }

 private:
  static constexpr seconds kLimit{5};
  std::atomic<int>* made_;
};

TEST_P(ProcessTreeTest, AForkChainDoesNotEscape) {
  const ForkChain chain;
  while (chain.made() < 20) sched_yield();
  while (wait(nullptr) > 0 || errno != ECHILD) {
    KillDescendants(getpid(), GetParam());
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
  }
  EXPECT_LT(chain.made(), ForkChain::kEscaped);
}

}  // namespace
}  // namespace autodist::process
