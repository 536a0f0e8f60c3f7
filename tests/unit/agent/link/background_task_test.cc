#include "agent/link/background_task.h"

#include <gtest/gtest.h>

#include <atomic>

#include "support/forbid_threads.h"

namespace autodist::agent {
namespace {

TEST(BackgroundTaskDeathTest, IsNotBusyIfNoThreadCanBeStarted) {
  EXPECT_EXIT(
      {
        test::ForbidThreads();
        std::atomic<bool> called = false;
        BackgroundTask task;
        const auto call = [&called] { called = true; };
        const Status started = task.Start(call, call);
        _exit(started.code() == StatusCode::kResourceExhausted && !task.busy() && !called ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(BackgroundTaskTest, IsNotBusyOnceItsWorkIsDone) {
  std::atomic<bool> busy = true;
  {
    BackgroundTask task;
    EXPECT_TRUE(task.Start([] {}, [&] { busy = task.busy(); }).ok());
  }
  EXPECT_FALSE(busy);
}

}  // namespace
}  // namespace autodist::agent
