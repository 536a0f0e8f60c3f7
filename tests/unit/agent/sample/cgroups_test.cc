#include "agent/sample/processes.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

std::vector<std::string> Paths(const std::string& cgroup, const std::string& controller) {
  std::vector<std::string> paths;
  for (const process::CgroupFolder& one : process::CgroupFoldersOf(cgroup, controller, "/m")) {
    paths.push_back(one.path + (one.version_2 ? "" : " of version 1"));
  }
  return paths;
}

using Strings = std::vector<std::string>;

TEST(CgroupsTest, AreTheProcessesCgroupAndItsAncestors) {
  EXPECT_EQ(Paths("0::/a/b\n", "cpu"), (Strings{"/m/a/b", "/m/a", "/m"}));
  EXPECT_EQ(Paths("0::/\n", "cpu"), Strings{"/m"});
  const std::string both = "4:memory:/x\n1:cpu,cpuacct:/y/z\n0::/a\n";
  EXPECT_EQ(Paths(both, "memory"), (Strings{"/m/memory/x of version 1", "/m/memory of version 1"}));
  EXPECT_EQ(Paths(both, "cpu"),
            (Strings{"/m/cpu/y/z of version 1", "/m/cpu/y of version 1", "/m/cpu of version 1"}));
  for (const char* none : {"", "x", "0::", "0::../a\n", "0::/../a\n", "3:cpuset:/a\n"}) {
    EXPECT_EQ(Paths(none, "cpu"), Strings{}) << none;
  }
}

// Rank 3 is process 70; its groups are described in a folder of the test.
class CgroupReaderTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& content) {
    std::filesystem::create_directories(
        std::filesystem::path(folder_.path() + "/" + name).parent_path());
    folder_.Write(name, content);
  }
  v1::RankSample Read() {
    v1::NodeSample sample;
    sample.add_ranks()->set_rank(3);
    now_ += std::chrono::seconds(2);
    reader_.Read({{3, 70}}, now_, sample);
    return sample.ranks(0);
  }

  test::TempFolder folder_;
  CgroupReader reader_{folder_.path() + "/proc", folder_.path() + "/sys"};
  SampleTime now_;
};

TEST_F(CgroupReaderTest, TheLowestLimitOfAllAncestorsCounts) {
  Write("proc/70/cgroup", "0::/job/rank\n");
  const std::string job = "sys/fs/cgroup/job/";
  Write(job + "cpu.max", "25000 100000\n");
  Write(job + "cpu.stat", "usage_usec 1\nnr_periods 100\nnr_throttled 10\n");
  Write(job + "rank/cpu.max", "max 100000\n");
  Write(job + "memory.high", "max\n");
  Write(job + "memory.max", "2000\n");
  Write(job + "rank/memory.high", "1000\n");
  Write(job + "rank/memory.max", "max\n");
  Write(job + "rank/memory.current", "990\n");
  Write(job + "rank/memory.events", "low 9\nhigh 5\nmax 2\noom 9\n");
  Write(job + "rank/memory.stat", "anon 1\npgfault 9\npgmajfault 100\n");
  Write(job + "rank/memory.pressure", "some avg10=40.00 avg60=1.00 avg300=1.00 total=1\n");
  v1::RankSample reported = Read();
  EXPECT_EQ(reported.cpu_limit(), 0.25);
  EXPECT_FALSE(reported.has_cpu_throttled());
  EXPECT_EQ(reported.memory_limit(), 1000u);
  EXPECT_EQ(reported.memory_charged(), 990u);
  EXPECT_EQ(reported.memory_stalled(), 0.4);
  Write(job + "cpu.stat", "usage_usec 1\nnr_periods 120\nnr_throttled 25\n");
  Write(job + "rank/memory.events", "high 13\nmax 4\n");
  Write(job + "rank/memory.stat", "pgmajfault 300\n");
  reported = Read();
  EXPECT_EQ(reported.cpu_throttled(), 0.75);
  EXPECT_EQ(reported.memory_hits(), 5);
  EXPECT_EQ(reported.memory_faults(), 100);
}

TEST_F(CgroupReaderTest, Version1) {
  Write("proc/70/cgroup", "2:memory:/a\n1:cpu:/a\n0::/\n");
  Write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "20000\n");
  Write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "10000\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "10000\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  v1::RankSample reported = Read();
  EXPECT_EQ(reported.cpu_limit(), 2);
  EXPECT_FALSE(reported.has_memory_limit());
  // Groups are read again after a while.
  Write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4096\n");
  Write("sys/fs/cgroup/memory/a/memory.failcnt", "7\n");
  for (int i = 0; i < 10 && !reported.has_memory_hits(); ++i) reported = Read();
  EXPECT_EQ(reported.memory_limit(), 4096u);
  EXPECT_EQ(reported.memory_hits(), 0);
  EXPECT_FALSE(reported.has_memory_stalled());
}

TEST_F(CgroupReaderTest, GroupsWithoutALimitAreNotReported) {
  EXPECT_EQ(Read().ByteSizeLong(), 2u);
  Write("proc/70/cgroup", "0::/\n");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Read().ByteSizeLong(), 2u);
}

}  // namespace
}  // namespace autodist::agent
