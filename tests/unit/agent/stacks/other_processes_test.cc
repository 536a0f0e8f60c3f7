#include "agent/stacks/other_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <string>

#include "base/deadline.h"
#include "process/spawn.h"
#include "support/limit.h"

namespace autodist::agent {
namespace {

TEST(OtherProcessesTest, BusyProcessesOfOthersAreNamed) {
  process::SpawnRequest request;
  request.argv = {"sh", "-c", "while :; do :; done"};
  request.environment = {"PATH=/usr/bin:/bin", "AUTODIST_JOB_ID=job-1"};
  request.working_directory = "/";
  const auto busy = process::Spawn(request);
  ASSERT_TRUE(busy.ok()) << busy.status();
  const std::string name =
      "other program: sh (process " + std::to_string(*busy) + ", of job job-1) uses ";
  constexpr pid_t kNobody = 1 << 30;  // has no processes below it
  std::string text;
  for (const auto limit = base::Deadline::After(test::kLimit);
       text.find(name) == std::string::npos && !limit.Expired();) {
    text = BusiestOther("job-2", kNobody);
  }
  EXPECT_THAT(text, testing::HasSubstr(name));
  EXPECT_THAT(BusiestOther("job-1", kNobody), testing::Not(testing::HasSubstr(name)));
  EXPECT_THAT(BusiestOther("job-2"), testing::Not(testing::HasSubstr(name)));
  kill(*busy, SIGKILL);
  waitpid(*busy, nullptr, 0);
}

}  // namespace
}  // namespace autodist::agent
