#include "base/thread.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>

#include "base/parallel.h"
#include "support/forbid_threads.h"

namespace autodist::base {
namespace {

using test::ForbidThreads;

TEST(ThreadDeathTest, AFailedStartIsAFailureWithTheReason) {
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

TEST(ThreadDeathTest, WorkForManyThreadsIsDoneIfNoneCanBeStarted) {
  EXPECT_EXIT(
      {
        ForbidThreads();
        std::atomic<size_t> done = 0;
        ParallelFor(100, 8, [&](size_t) { ++done; });
        _exit(done == 100 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ThreadDeathTest, AsyncRunsInGetIfNoThreadCanBeStarted) {
  EXPECT_EXIT(
      {
        ForbidThreads();
        std::atomic<int> calls = 0;
        auto result = Async([&calls] { return ++calls; });
        {
          const auto unused = Async([&calls] { return ++calls; });
        }
        _exit(calls == 0 && result.get() == 1 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ThreadTest, AsyncRunsOnANewThread) {
  EXPECT_NE(Async([] { return std::this_thread::get_id(); }).get(), std::this_thread::get_id());
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
