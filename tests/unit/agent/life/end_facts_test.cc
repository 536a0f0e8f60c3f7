#include "agent/life/end_facts.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "process/spawn.h"
#include "support/limit.h"

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

// The mounts as "FOLDER DISK", in their order.
std::vector<std::string> MountsIn(const char* table) {
  std::vector<std::string> mounts;
  for (const LocalMount& mount : LocalMounts(table)) {
    mounts.push_back(mount.folder + " " + mount.disk);
  }
  return mounts;
}

TEST(EndFactsTest, OnlyLocalFoldersAreAskedWhetherTheyAreFull) {
  struct Table {
    const char* text;
    std::vector<std::string> mounts;
  };
  const Table tables[] = {
      {"", {}},
      {"nonsense\nnone nowhere ext4 rw 0 0\nserver:/data /data nfs4 rw 0 0\n", {}},
      {"/dev/sda1 / ext4 rw 0 0\nudev /dev devtmpfs rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\n",
       {"/ /dev/sda1", "/dev ", "/dev/shm "}},
      // Those of containers have no disk of their own.
      {"overlay / overlay rw 0 0\noverlay /var/lib/docker/x/merged overlay rw 0 0\n", {"/ "}},
      // Below a mount of a file server, and one that it covers.
      {"server:/w /workspace nfs4 rw 0 0\ntmpfs /workspace/x tmpfs rw 0 0\n"
       "tmpfs /workspace2 tmpfs rw 0 0\n",
       {"/workspace2 "}},
      {"/dev/sdb1 /home/ann/.cache ext4 rw 0 0\nautomount /home autofs rw 0 0\n", {}},
      {"/dev/sda2 /data xfs rw 0 0\nserver:/data /data lustre rw 0 0\n", {}},
      // The agent needs a root that answers.
      {"server:/root / nfs rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n", {"/tmp "}},
      {"/dev/sdc /my\\040disk\\134 ext4 rw 0 0\n/dev/sdc /odd\\04 ext4 rw 0 0\n",
       {"/my disk\\ /dev/sdc", "/odd\\04 /dev/sdc"}},
      {"server:/w /my\\040w nfs rw 0 0\ntmpfs /my\\040w/x tmpfs rw 0 0\n", {}},
      // Subvolumes and datasets share their room.
      {"/dev/sdd /a btrfs rw,subvol=/a 0 0\n/dev/sdd /b btrfs rw,subvol=/b 0 0\n"
       "tank/a /c zfs rw 0 0\ntank/b /d zfs rw 0 0\n",
       {"/a /dev/sdd", "/b /dev/sdd", "/c tank", "/d tank"}},
  };
  for (const Table& table : tables) EXPECT_EQ(MountsIn(table.text), table.mounts) << table.text;
}

TEST(EndFactsTest, PortsConcernRanksThatGaveUpThemselves) {
  const struct {
    int code;
    int signal;
    bool concern;
  } kCases[] = {{1, 0, true},        {98, 0, true},       {0, SIGABRT, true},
                {0, SIGKILL, false}, {0, SIGSEGV, false}, {0, SIGBUS, false}};
  for (const auto& one : kCases) {
    v1::RankExited exit;
    if (one.signal == 0) exit.set_exit_code(one.code);
    if (one.signal != 0) exit.set_signal(one.signal);
    EXPECT_EQ(MayConcernPorts(exit), one.concern) << one.code << " " << one.signal;
  }
}

TEST(EndFactsTest, SharedMemoryNeedsMoreRoomThanADisk) {
  constexpr uint64_t kMiB = 1 << 20;
  struct {
    const char* folder;
    uint64_t size;  // MiB, as the next
    uint64_t free;
    bool nearly_full;
  } const kCases[] = {
      {"/", 1'000'000, 0, true},       {"/", 1'000'000, 15, true},
      {"/", 1'000'000, 200, false},    {"/tmp", 100, 6, false},
      {"/tmp", 100, 4, true},          {"/dev/shm", 64'000, 0, true},
      {"/dev/shm", 64'000, 200, true}, {"/dev/shm", 64'000, 300, false},
      {"/dev/shm", 64, 20, true},      {"/dev/shm", 64, 60, false},
  };
  for (const auto& one : kCases) {
    EXPECT_EQ(IsNearlyFull(one.folder, one.size * kMiB, one.free * kMiB), one.nearly_full)
        << one.folder << " " << one.size << " " << one.free;
  }
}

}  // namespace
}  // namespace autodist::agent
