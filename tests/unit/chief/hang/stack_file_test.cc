#include "chief/hang/stack_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "pickle/pickled.h"
#include "support/temp_folder.h"
#include "support/turned_loop.h"

namespace autodist::chief {
namespace {

using namespace std::string_literals;

v1::RankStacks OfRank(uint32_t rank, const std::string& text) {
  v1::RankStacks stacks;
  stacks.set_rank(rank);
  stacks.set_text(text);
  return stacks;
}

v1::RankStacks OfNode(const std::string& text) {
  v1::RankStacks stacks;
  stacks.set_text(text);
  return stacks;
}

class StackFileTest : public testing::Test {
 protected:
  std::string Content() {
    Status written = Error(StatusCode::kUnknown, "not written");
    file_.Finish([&](const Status& reported) { written = reported; });
    EXPECT_TRUE(written.ok()) << written;
    EXPECT_THAT(file_.path(), testing::MatchesRegex(folder_.path() + "/stacks-[0-9]+\\.txt"));
    return folder_.Read(std::filesystem::path(file_.path()).filename());
  }

  const test::TempFolder folder_;
  test::TurnedLoop loop_;
  StackFile file_{folder_.path(), {0, 2}, loop_};
};

TEST_F(StackFileTest, ANodesStacksOfARankAreWrittenOnce) {
  for (int i = 0; i < 3; ++i) file_.Add(0, "rank 1 on n0", OfRank(1, "main\n"));
  EXPECT_EQ(Content(), "==== rank 1 on n0\nmain\n");
}

TEST_F(StackFileTest, IsCompleteAfterTheLastMessageOfEachNode) {
  file_.Add(0, "rank 1 on n0", OfRank(1, "main\n"));
  file_.Add(0, "NCCL on n0", OfNode(""));  // no answer of NCCL
  EXPECT_FALSE(file_.complete());
  EXPECT_THAT(file_.missing(), testing::ElementsAre(2));
  file_.Add(2, "rank 4 on n2", OfRank(4, "without an end"));
  file_.Add(2, "NCCL on n2", OfNode("ring\n"));
  EXPECT_TRUE(file_.complete());
  EXPECT_EQ(Content(),
            "==== rank 1 on n0\nmain\n"
            "==== rank 4 on n2\nwithout an end\n"
            "==== NCCL on n2\nring\n");
}

// What a node sends as a flight record is loaded by other programs, which execute pickles.
TEST_F(StackFileTest, AFlightRecordIsWrittenAgainFromItsValues) {
  v1::RankStacks stacks = OfRank(1, "main\n");
  stacks.set_flight_record("\x80\x02}X\x01\x00\x00\x00vK\x07s."s);
  file_.Add(0, "rank 1 on n0", stacks);
  EXPECT_EQ(folder_.Read("flight-recorder/rank-1"), *pickle::Rewrite(stacks.flight_record()));
  EXPECT_NE(folder_.Read("flight-recorder/rank-1"), stacks.flight_record());
}

TEST_F(StackFileTest, AFlightRecordThatCallsFunctionsIsNotWritten) {
  v1::RankStacks stacks = OfRank(1, "main\n");
  stacks.set_flight_record(
      "\x80\x02"
      "cposix\nsystem\nX\x04\x00\x00\x00true\x85R."s);
  file_.Add(0, "rank 1 on n0", stacks);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/flight-recorder"));
  EXPECT_EQ(Content(),
            "==== flight record of rank 1\n"
            "it is not saved: no pickle of plain data: operation 99\n"
            "==== rank 1 on n0\nmain\n");
}

TEST_F(StackFileTest, ALostNodeIsNotAwaited) {
  file_.NodeIsGone(0);
  file_.Add(2, "NCCL on n2", OfNode(""));
  EXPECT_TRUE(file_.complete());
}

TEST_F(StackFileTest, UnrequestedAndLateStacksAreIgnored) {
  file_.Add(1, "rank 9 on n1", OfRank(9, "unasked"));
  file_.Add(0, "NCCL on n0", OfNode(""));
  file_.Add(0, "rank 0 on n0", OfRank(0, "too late"));
  EXPECT_EQ(Content(), "");
}

TEST(StackFileFailureTest, AMissingFolderIsNamed) {
  test::TurnedLoop loop;
  StackFile file("/proc/no-such-folder", {0}, loop);
  file.Finish([](const Status& written) {
    EXPECT_THAT(Message(written), testing::HasSubstr("/proc/no-such-folder"));
  });
}

}  // namespace
}  // namespace autodist::chief
