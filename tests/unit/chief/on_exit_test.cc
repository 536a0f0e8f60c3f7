#include "chief/on_exit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "support/temp_folder.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// Whether the process with the pid in a file runs.
bool Runs(const std::string& pid) {
  return kill(static_cast<pid_t>(std::atoi(pid.c_str())), 0) == 0;
}

TEST(OnEndTest, ACommandThatTakesTooLongIsKilledWithItsChildren) {
  const test::TempFolder folder;
  testing::internal::CaptureStderr();
  RunOnExit("sleep 1000 & echo $! > " + folder.path() + "/pid; wait", {}, "ended",
            milliseconds(1500));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("the command of --on-exit failed: it was killed, as it took longer than "
                        "1.5 s"));
  const std::string pid = folder.Read("pid");
  ASSERT_NE(pid, "");
  // Another process has to reap it.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const auto is_zombie = [&] {
    return std::system(
               ("grep -q '^State:.Z' /proc/$(cat " + folder.path() + "/pid)/status").c_str()) == 0;
  };
  while (Runs(pid) && !is_zombie() && std::chrono::steady_clock::now() < limit) {
  }
  const bool ended = !Runs(pid) || is_zombie();
  EXPECT_TRUE(ended);
  if (!ended) kill(static_cast<pid_t>(std::atoi(pid.c_str())), SIGKILL);
}

TEST(OnEndTest, TheFirstLineOfAReportIsTheCause) {
  const test::TempFolder folder;
  v1::JobStatus ended;
  ended.set_name("sweep-3");
  ended.set_exit_code(1);
  ended.set_started_ms(1'000);
  ended.set_ended_ms(62'900);
  ended.set_report("rank 1 exited: $(x) 'y'\n  more");
  RunOnExit("echo \"$AUTODIST_JOB_NAME $AUTODIST_ELAPSED_S $AUTODIST_CAUSE\" > " + folder.path() +
                "/values",
            ended, "failed");
  EXPECT_EQ(folder.Read("values"), "sweep-3 61 rank 1 exited: $(x) 'y'\n");
}

}  // namespace
}  // namespace autodist::chief
