#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "process/oom_watch.h"
#include "support/temp_folder.h"

namespace autodist::process {
namespace {

constexpr uint64_t kKibi = 1024;

TEST(OomLogReaderTest, ReportsUseAndLimitOfACgroup) {
  OomLogReader reader;
  for (const char* line :
       {"python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        "memory: usage 250kB, limit 256kB, failcnt 19",
        "memory+swap: usage 250kB, limit 9007199254740988kB, failcnt 0",
        "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/a,task_memcg=/a,task=x,pid=23657,uid=7"}) {
    EXPECT_FALSE(reader.Take(line)) << line;
  }
  const auto kill = reader.Take(
      "Memory cgroup out of memory: Killed process 23657 (x) total-vm:831412kB, anon-rss:800kB, "
      "file-rss:0kB, shmem-rss:7420kB, UID:7 pgtables:156kB oom_score_adj:0");
  ASSERT_TRUE(kill);
  EXPECT_EQ(kill->pid, 23657);
  EXPECT_EQ(kill->uid, 7u);
  EXPECT_TRUE(kill->how.of_cgroup);
  EXPECT_EQ(kill->how.used, 250 * kKibi);
  EXPECT_EQ(kill->how.limit, 256 * kKibi);
}

TEST(OomLogReaderTest, ReportsTheProcesssUseForTheMachine) {
  OomLogReader reader;
  reader.Take("memory: usage 250kB, limit 256kB, failcnt 19");  // of an earlier one
  reader.Take("train invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0");
  const auto kill = reader.Take(
      "Out of memory: Killed process 99 (train) total-vm:831412kB, anon-rss:800kB, file-rss:4kB, "
      "shmem-rss:20kB, UID:1000 pgtables:156kB oom_score_adj:0");
  ASSERT_TRUE(kill);
  EXPECT_EQ(kill->pid, 99);
  EXPECT_FALSE(kill->how.of_cgroup);
  EXPECT_EQ(kill->how.used, 824 * kKibi);
  EXPECT_EQ(kill->how.limit, 0u);
}

TEST(OomLogReaderTest, SupportsTheFormatOfOlderKernels) {
  OomLogReader reader;
  EXPECT_FALSE(
      reader.Take("Memory cgroup out of memory: Kill process 5 (x) score 900 or sacrifice"
                  " child"));
  const auto kill = reader.Take("Killed process 5 (x) total-vm:8kB, anon-rss:8kB, file-rss:0kB");
  ASSERT_TRUE(kill);
  EXPECT_TRUE(kill->how.of_cgroup);
  EXPECT_FALSE(kill->uid);
  EXPECT_FALSE(reader.Take("Killed process x"));
  EXPECT_FALSE(reader.Take("Killed process "));
}

// The log has the name of a program that crashes, with 15 bytes, and that of the file.
TEST(OomLogReaderTest, NamesOfProgramsAndFilesAreNoKills) {
  OomLogReader reader;
  for (const char* line :
       {"x[27810]: segfault at 8 ip 0 sp 0 error 6 in Out of memory: Killed process 99 (x) "
        "total-vm:8kB, UID:0[161e,401000+78000]",
        "Killed process [27810]: segfault at 8 ip 0 sp 0 error 6 in 99 (x) total-vm:8kB",
        "Killed process 9[27810]: segfault at 8 ip 0 sp 0 error 6 in x (x) total-vm:8kB",
        "Killed process -1 (x) total-vm:8kB"}) {
    EXPECT_FALSE(reader.Take(line)) << line;
  }
  reader.Take("memory: usage 250kB, limit 256kB, failcnt 19");
  reader.Take("memory: usage 9[27810]: segfault at 8 ip 0 error 6 in limit 3kB, failcnt 19");
  reader.Take("x[27810]: segfault at 8 ip 0 error 6 in train invoked oom-killer: gfp_mask=0");
  const auto kill = reader.Take(
      "Memory cgroup out of memory: Killed process 5 (UID:0 )) total-vm:8kB, anon-rss:8kB, UID:7 "
      "pgtables:156kB");
  ASSERT_TRUE(kill);
  EXPECT_EQ(kill->uid, 7u);
  EXPECT_EQ(kill->how.used, 250 * kKibi);
  EXPECT_EQ(kill->how.limit, 256 * kKibi);
}

class MemoryCgroupsTest : public testing::Test {
 protected:
  void Write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = folder_.path() + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  const test::TempFolder folder_;
};

TEST_F(MemoryCgroupsTest, OfVersion2TheOwnCgroupIsFirstThenItsAncestors) {
  Write("a/b/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n");
  Write("a/b/memory.events.local", "oom 1\n");
  Write("a/b/memory.max", "max\n");
  Write("a/memory.events", "oom_kill 5\n");
  Write("a/memory.max", "4096\n");
  Write("a/memory.peak", "4000\n");
  const auto cgroups = MemoryCgroupsOf("0::/a/b\n", folder_.path());
  ASSERT_EQ(cgroups.size(), 2u);
  EXPECT_EQ(cgroups[0].OomKills(), 2u);
  EXPECT_EQ(cgroups[0].LimitHits(), 1u);
  EXPECT_EQ(cgroups[0].Limit(), 0u);
  EXPECT_FALSE(cgroups[0].ReachedLimitSince(0));
  EXPECT_EQ(cgroups[1].OomKills(), 5u);
  EXPECT_EQ(cgroups[1].Limit(), 4096u);
  EXPECT_EQ(cgroups[1].Peak(), 4000u);
  EXPECT_FALSE(cgroups[1].ReachedLimitSince(0));
  Write("a/memory.events.local", "oom 1\n");
  EXPECT_TRUE(cgroups[1].ReachedLimitSince(0));
  EXPECT_FALSE(cgroups[1].ReachedLimitSince(1));
}

TEST_F(MemoryCgroupsTest, Version1CountsIfItHasTheController) {
  Write("memory/x/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  Write("memory/x/memory.max_usage_in_bytes", "262144\n");
  Write("memory/x/memory.limit_in_bytes", "262144\n");
  Write("memory/memory.oom_control", "oom_kill 0\n");
  Write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("a/memory.events", "oom_kill 5\n");
  const auto cgroups = MemoryCgroupsOf("5:cpu,cpuacct:/y\n4:memory:/x\n0::/a\n", folder_.path());
  ASSERT_EQ(cgroups.size(), 2u);
  EXPECT_EQ(cgroups[0].OomKills(), 4u);
  EXPECT_TRUE(cgroups[0].ReachedLimitSince(0));
  EXPECT_EQ(cgroups[0].Limit(), 262144u);
  EXPECT_EQ(cgroups[1].Limit(), 0u);
  EXPECT_FALSE(cgroups[1].ReachedLimitSince(0));
}

TEST_F(MemoryCgroupsTest, InvisibleCgroupsAreOmitted) {
  EXPECT_TRUE(MemoryCgroupsOf("", folder_.path()).empty());
  EXPECT_TRUE(MemoryCgroupsOf("0::/../x\n4:cpu:/\n", folder_.path()).empty());
  Write("memory.events", "oom_kill 1\n");
  // A container may see its path outside.
  EXPECT_EQ(MemoryCgroupsOf("0::/docker/4711\n", folder_.path()).size(), 1u);
}

}  // namespace
}  // namespace autodist::process
