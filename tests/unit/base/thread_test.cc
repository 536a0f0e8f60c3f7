#include "base/thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>

#include "base/parallel.h"

namespace autodist::base {
namespace {

constexpr uid_t kNobody = 65'534;

// In a process of its own, where nobody may start a thread: root's are not limited.
void ForbidThreads() {
  const rlimit none{0, 0};
  if (setrlimit(RLIMIT_NPROC, &none) != 0) _exit(2);
  if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) _exit(2);
}

TEST(ThreadDeathTest, OneThatCannotBeStartedIsAFailureWithTheReason) {
  EXPECT_EXIT(
      {
        ForbidThreads();
        const auto thread = StartThread([] {});
        _exit(thread.status().code() == StatusCode::kResourceExhausted &&
                      !Remedy(thread.status()).empty()
                  ? 0
                  : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ThreadDeathTest, WorkForManyThreadsIsDoneWhereNoneCanBeStarted) {
  EXPECT_EXIT(
      {
        ForbidThreads();
        std::atomic<size_t> done = 0;
        ParallelFor(100, 8, [&](size_t) { ++done; });
        _exit(done == 100 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ThreadTest, RunsUntilItIsJoined) {
  std::atomic<bool> ran = false;
  {
    const auto thread = StartThread([&] { ran = true; });
    ASSERT_TRUE(thread.ok());
  }
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace autodist::base
