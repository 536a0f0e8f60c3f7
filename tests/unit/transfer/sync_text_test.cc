#include "transfer/sync_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::transfer {
namespace {

using std::chrono::duration;
using testing::HasSubstr;

TEST(SummaryTextTest, CountsFilesAndNotCopies) {
  struct Case {
    SyncTotals totals;
    bool relays;
    std::string text;
  };
  const Case cases[] = {
      {{}, false, "synced: nothing to send"},
      {{.nodes_sharing = 2}, false, "synced: nothing to send; 2 nodes with the same folder"},
      {{.sent = {{0, 1'000}, {4, 2'000}}, .nodes_sent = 2},
       false,
       "synced: 2 files, 3.0 kB sent to 2 nodes in 0.5 s"},
      {{.sent = {{0, 5}}, .passed = {{0, 5}}, .nodes_sent = 1, .nodes_passed = 2},
       true,
       "synced: 1 file, 5 bytes sent once, passed on to 2 nodes in 0.5 s"},
      {{.passed = {{0, 5}, {1, 5}}, .nodes_passed = 1},
       true,
       "synced: 2 files, 10 bytes passed on to 1 node in 0.5 s"},
      {{.sent = {{0, 5}}, .nodes_sent = 2, .nodes_missed = 1},
       true,
       "synced: 1 file, 5 bytes sent to 2 nodes in 0.5 s; 1 node could not get all files from "
       "the first node, and got them from here"},
  };
  for (const Case& it : cases) {
    EXPECT_EQ(SummaryText(it.totals, it.relays, duration<double>(0.5)), it.text);
  }
}

TEST(SendsTextTest, CountsWhatNodesLackAndTheseNodes) {
  struct Row {
    SyncNeeds needs;
    std::string text;
    uint64_t bytes;
  };
  const Row rows[] = {
      {{{{4, 80'000'000}}, 1, 80'000'000, 0}, "syncing 1 file, 80 MB to 1 node", 80'000'000},
      {{{{0, 1'000}, {4, 2'000}}, 7, 9'000, 0}, "syncing 2 files, 3.0 kB to 7 nodes", 9'000},
      {{{{0, 1'000}, {4, 2'000}}, 1, 3'000, 2}, "syncing 2 files, 3.0 kB to up to 3 nodes", 9'000},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(SendsText(row.needs), row.text);
    EXPECT_EQ(BytesToSend(row.needs), row.bytes);
  }
}

TEST(FileSumTest, CountsEachFileOnce) {
  FileSum sum;
  EXPECT_TRUE(sum.empty());
  EXPECT_EQ(sum.Text(), "0 files, 0 bytes");
  for (int node = 0; node < 3; ++node) {
    for (const uint64_t entry : {70UL, 2UL, 70UL}) sum.Add({entry, 1'000});
  }
  EXPECT_FALSE(sum.empty());
  EXPECT_EQ(sum.Text(), "2 files, 2.0 kB");
}

TEST(NamesByNodeTest, NodesWithTheSameFilesAreTogether) {
  const std::vector<std::string> hosts = {"host1", "host2", "host3"};
  EXPECT_EQ(NamesByNode({}, hosts), "");
  EXPECT_EQ(NamesByNode({{"a.py", {1, 2}}, {"b.py", {1, 2}}, {"c.pt", {1}}}, hosts),
            "c.pt on host2; a.py and b.py on host2 and host3");
  EXPECT_EQ(NamesByNode({{"a", {1}}, {"b", {1}}, {"c", {1}}, {"d", {1}}, {"\033", {1}}}, hosts),
            "\\x1b, a, b and 2 others on host2");
  EXPECT_EQ(NamesByNode({{"a", {7}}}, hosts), "a on node 7");
}

TEST(LargeOutputsTextTest, NamesTheLargestPlace) {
  files::FileTree tree;
  const auto add = [&](const std::string& path, uint64_t size, int64_t modified_ns) {
    files::FileEntry entry;
    entry.path = path;
    entry.size = size;
    entry.modified_ns = modified_ns;
    tree.entries.push_back(std::move(entry));
  };
  add("big/a", 15'000'000, 150);
  add("ckpt/b", 6'000'000, 250);
  add("train.py", 90'000'000, 50);  // by the user
  const std::vector<JobTime> jobs = {{200, 300}, {100, 190}};
  const std::string text = LargeOutputsText(tree, {0, 1, 2}, jobs);
  EXPECT_THAT(text,
              HasSubstr("21 MB that was written while a job ran here, the largest part in big/\n"));
  EXPECT_THAT(text, HasSubstr("add a line to .autodistignore: /big/"));
  EXPECT_THAT(LargeOutputsText(tree, {0}, jobs), HasSubstr("15 MB that was written while a job "
                                                           "ran here, in big/\n"));
  EXPECT_EQ(LargeOutputsText(tree, {1, 2}, jobs), "");
  EXPECT_EQ(LargeOutputsText(tree, {0, 1, 2}, {}), "");
}

}  // namespace
}  // namespace autodist::transfer
