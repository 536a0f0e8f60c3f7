#include "chief/output/rank_logs.h"

#include <gtest/gtest.h>

#include <string>

namespace autodist::chief {
namespace {

const std::string kRecord =
    "[rank2]:[E1126 07:53:06.164112849 ProcessGroupNCCL.cpp:1628] [PG ID 0 PG GUID 0(default_pg) "
    "Rank 2] ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1, only active "
    "collectives: 0\n";

TEST(RequestedOutputTest, OnlyLinesOfRecordsAreRemoved) {
  EXPECT_TRUE(IsRequestedOutput(kRecord));
  EXPECT_TRUE(IsRequestedOutput(kRecord + kRecord));
  EXPECT_FALSE(IsRequestedOutput(kRecord + "step 4\n"));
  EXPECT_FALSE(IsRequestedOutput("step 4\n" + kRecord));
}

// Unbuffered Python writes the end of a line separately.
TEST(RequestedOutputTest, AnEndOfALineBelongsToTheRank) {
  for (const char* output : {"", "\n", "\n\n", "\r\n", " "})
    EXPECT_FALSE(IsRequestedOutput(output));
}

}  // namespace
}  // namespace autodist::chief
