#include "agent/life/end_facts.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "base/deadline.h"
#include "base/fd.h"
#include "process/spawn.h"
#include "support/limit.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

TEST(EndFactsTest, ALeftProcessHasTheRankThatStartedIt) {
  process::SpawnRequest request;
  request.argv = {"sleep", "1000"};
  request.environment = {"PATH=/usr/bin:/bin", "AUTODIST_PROGRESS=/tmp/a/progress.3"};
  request.working_directory = "/";
  const auto pid = process::Spawn(request);
  ASSERT_TRUE(pid.ok()) << pid.status();
  const v1::ProcessesLeft left = DescribeLeft(v1::LEFT_STAGE_AWAITED, {*pid});
  EXPECT_EQ(left.stage(), v1::LEFT_STAGE_AWAITED);
  ASSERT_EQ(left.processes_size(), 1);
  EXPECT_EQ(left.processes(0).pid(), *pid);
  EXPECT_EQ(left.processes(0).name(), "sleep");
  EXPECT_EQ(left.processes(0).rank(), 3u);
  kill(*pid, SIGKILL);
  process::Reap(*pid);
  EXPECT_EQ(DescribeLeft(v1::LEFT_STAGE_KILLED, {*pid}).processes_size(), 0);
}

TEST(EndFactsTest, OfAProcessWithoutVariablesTheRankIsUnknown) {
  process::SpawnRequest request;
  request.argv = {"/bin/sleep", "1000"};
  request.working_directory = "/";
  const auto pid = process::Spawn(request);
  ASSERT_TRUE(pid.ok()) << pid.status();
  const v1::ProcessesLeft left = DescribeLeft(v1::LEFT_STAGE_SIGNALLED, {*pid});
  ASSERT_EQ(left.processes_size(), 1);
  EXPECT_FALSE(left.processes(0).has_rank());
  kill(*pid, SIGKILL);
  process::Reap(*pid);
}

// A process that waits for its child of vfork(2) is in uninterruptible sleep.
TEST(EndFactsTest, TheVariablesOfAProcessThatHangsAreNotRead) {
  process::SpawnRequest request;
  request.argv = {"python3", "-c", "import ctypes; c = ctypes.CDLL(None); c.vfork() or c.pause()"};
  request.environment = {"PATH=/usr/bin:/bin", "AUTODIST_PROGRESS=/tmp/a/progress.3"};
  request.working_directory = "/";
  const auto pid = process::Spawn(request);
  ASSERT_TRUE(pid.ok()) << pid.status();
  // Without a child it only waits for a disk.
  const auto hangs = [folder = "/proc/" + std::to_string(*pid) + "/"] {
    const std::string children = folder + "task" + folder.substr(5) + "children";
    return !base::ReadFile(children, 4096).value_or("").empty() &&
           base::ReadFile(folder + "stat", 4096).value_or("").find(") D ") != std::string::npos;
  };
  const base::Deadline deadline = base::Deadline::After(std::chrono::milliseconds(test::kLimit));
  while (!hangs() && !deadline.Expired()) usleep(10'000);
  ASSERT_TRUE(hangs());
  const v1::ProcessesLeft left = DescribeLeft(v1::LEFT_STAGE_AWAITED, {*pid});
  ASSERT_EQ(left.processes_size(), 1);
  EXPECT_EQ(left.processes(0).name(), "python3");
  EXPECT_FALSE(left.processes(0).has_rank());
  kill(-*pid, SIGKILL);
  process::Reap(*pid);
}

TEST(EndFactsTest, AFileServerIsNotAskedWhetherItIsFull) {
  const test::TempFolder folder;
  const std::string mounts = folder.path() + "/mounts";
  std::ofstream(mounts) << "server:/data /data nfs4 rw 0 0\nnonsense\nnone /nowhere ext4 rw 0 0\n"
                        << "overlay /proc overlay rw 0 0\n";
  EXPECT_TRUE(FullFileSystems(mounts).empty());
}

}  // namespace
}  // namespace autodist::agent
