#include "comm/sigpipe_blocked.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

namespace autodist {
namespace {

bool Pending() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGPIPE) == 1;
}

bool Blocked() {
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return sigismember(&blocked, SIGPIPE) == 1;
}

// Writes to a pipe without a reader; returns errno.
int WriteWithoutReader() {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  close(ends[0]);
  const ssize_t written = write(ends[1], "x", 1);
  const int error = written < 0 ? errno : 0;
  close(ends[1]);
  return error;
}

TEST(SigpipeBlockedTest, AWriteWithoutAReaderFailsAndLeavesNoSignal) {
  {
    const SigpipeBlocked blocked;
    EXPECT_EQ(WriteWithoutReader(), EPIPE);
    EXPECT_TRUE(Pending());
  }
  EXPECT_FALSE(Pending());
  EXPECT_FALSE(Blocked());
}

TEST(SigpipeBlockedTest, APendingSignalStaysPending) {
  const SigpipeBlocked ours;
  WriteWithoutReader();
  {
    const SigpipeBlocked blocked;
    WriteWithoutReader();
  }
  EXPECT_TRUE(Pending());
  EXPECT_TRUE(Blocked());
}

}  // namespace
}  // namespace autodist
