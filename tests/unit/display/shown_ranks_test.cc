#include "display/shown_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::display {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two hosts with two ranks each, and a service process.
const std::vector<Process> kProcesses = {{0, 0, "gpu1.example.org", false},
                                         {1, 1, "gpu1.example.org", false},
                                         {2, 0, "gpu2.example.org", false},
                                         {3, 1, "gpu2.example.org", false},
                                         {4, 0, "gpu1.example.org", true}};

std::vector<uint32_t> Shown(const std::string& text) {
  const auto shown = ShownRanks::Parse(text);
  EXPECT_TRUE(shown.ok()) << shown.status();
  std::vector<uint32_t> ranks;
  for (const Process& process : kProcesses) {
    if (shown->Shows(process)) ranks.push_back(process.rank);
  }
  return ranks;
}

std::string Refusal(const std::string& text) {
  const auto shown = ShownRanks::Parse(text);
  return Message(shown.ok() ? shown->CheckAgainst(kProcesses) : shown.status());
}

TEST(ShownRanksTest, AreSelectedInFourWays) {
  EXPECT_THAT(Shown("all"), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Shown("none"), IsEmpty());
  EXPECT_THAT(Shown("0"), ElementsAre(0));
  EXPECT_THAT(Shown("0,2-3"), ElementsAre(0, 2, 3));
  EXPECT_THAT(Shown("local1"), ElementsAre(1, 3));
  EXPECT_THAT(Shown("local0-1"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Shown("node:gpu2"), ElementsAre(2, 3));
  EXPECT_THAT(Shown("node:gpu1.example.org,3"), ElementsAre(0, 1, 3, 4));
}

TEST(ShownRanksTest, ErrorsAreReported) {
  for (const char* wrong : {"", "0,", "-1", "1-", "local", "node:", "rank 0", "0-99999999999"}) {
    EXPECT_THAT(Refusal(wrong),
                testing::HasSubstr("' names no ranks; say all, none, or ranks as in "))
        << wrong;
  }
  EXPECT_EQ(Refusal("3-1"), "'3-1' ends before it begins; did you mean 1-3?");
  EXPECT_EQ(Refusal("0,local9"),
            "'local9' names no rank; the job has 5 ranks on 2 nodes, counted from 0");
  EXPECT_EQ(Message(ShownRanks::Parse("1")->CheckAgainst({kProcesses[0]})),
            "'1' names no rank; the job has 1 rank on 1 node, counted from 0");
  EXPECT_EQ(Refusal("node:gpu2.example.com"),
            "no node is called 'gpu2.example.com'; did you mean gpu2.example.org?");
  EXPECT_EQ(Refusal("none"), "");
}

}  // namespace
}  // namespace autodist::display
