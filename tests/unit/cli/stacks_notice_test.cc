#include "cli/stacks_notice.h"

#include <gtest/gtest.h>

namespace autodist::cli {
namespace {

v1::AwaitedNodes Nodes(int number) {
  v1::AwaitedNodes nodes;
  for (int i = 0; i < number; ++i) nodes.add_addresses("n" + std::to_string(i));
  return nodes;
}

TEST(StacksNoticeTest, CountsTheRanksThatRun) {
  v1::JobStatus job;
  EXPECT_EQ(ReadingStacksText(job), "");
  job.add_nodes();  // its ranks have ended
  job.add_nodes()->set_running_ranks(1);
  EXPECT_EQ(ReadingStacksText(job),
            "reading the stacks of 1 rank on 1 node; this takes some seconds, and up to a minute "
            "with gdb");
  job.add_nodes()->set_running_ranks(4);
  EXPECT_TRUE(ReadingStacksText(job).starts_with("reading the stacks of 5 ranks on 2 nodes;"));
}

TEST(StacksNoticeTest, NamesTheNodesThatHaveNotAnswered) {
  const char* kTexts[] = {"",
                          "n0",
                          "n0 and n1",
                          "n0, n1 and n2",
                          "n0, n1, n2 and n3",
                          "n0, n1, n2, n3 and n4",
                          "n0, n1, n2, n3 and 2 others"};
  for (int number = 0; number < 7; ++number) {
    const std::string names = kTexts[number];
    EXPECT_EQ(AwaitedNodesText(Nodes(number)),
              names.empty() ? "" : "waiting for the stacks of " + names);
  }
}

}  // namespace
}  // namespace autodist::cli
