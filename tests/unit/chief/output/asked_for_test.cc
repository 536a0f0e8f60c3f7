#include "chief/output/asked_for.h"

#include <gtest/gtest.h>

#include <string>

namespace autodist::chief {
namespace {

const std::string kRecord =
    "[rank2]:[E1126 07:53:06.164112849 ProcessGroupNCCL.cpp:1628] [PG ID 0 PG GUID 0(default_pg) "
    "Rank 2] ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1, only active "
    "collectives: 0\n";

TEST(AskedForTest, LinesOfRecordsAlone) {
  EXPECT_TRUE(IsAskedFor(kRecord));
  EXPECT_TRUE(IsAskedFor(kRecord + kRecord));
  EXPECT_FALSE(IsAskedFor(kRecord + "step 4\n"));
  EXPECT_FALSE(IsAskedFor("step 4\n" + kRecord));
}

// Python writes the end of a line by itself where it does not keep output back.
TEST(AskedForTest, AnEndOfALineIsTheRanks) {
  for (const char* output : {"", "\n", "\n\n", "\r\n", " "}) EXPECT_FALSE(IsAskedFor(output));
}

}  // namespace
}  // namespace autodist::chief
