#include "chief/output/output_router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "support/plans.h"
#include "support/temp_folder.h"

namespace autodist::chief {
namespace {

using testing::ElementsAre;
using testing::Pair;

class OutputRouterTest : public testing::Test {
 protected:
  OutputRouterTest() { testing::internal::CaptureStdout(); }
  ~OutputRouterTest() override {
    console_.Finish();
    testing::internal::GetCapturedStdout();
  }

  static v1::Output Line(uint32_t rank, uint64_t offset = 0) {
    v1::Output output;
    output.set_rank(rank);
    output.set_stream(v1::OUTPUT_STREAM_STDOUT);
    output.set_offset(offset);
    output.set_data("line\n");
    return output;
  }
  void Begin(const std::string& folder, const std::vector<uint32_t>& members) {
    router_.Begin(*RankLogs::Create(plan_, folder_.path() + folder, {}), plan_, members);
  }

  const v1::LaunchPlan plan_ = test::ThreeNodePlan();
  const test::TempFolder folder_;
  const Loop loop_;
  std::vector<std::pair<uint32_t, uint64_t>> acknowledged_;  // node and offset; until Finish
  Console console_{[this](uint32_t node, const v1::OutputAck& ack) {
    acknowledged_.emplace_back(node, ack.offset());
  }};
  OutputRouter router_{loop_, console_};
};

TEST_F(OutputRouterTest, OutputOfRanksOfOtherNodesIsAcknowledgedAndDropped) {
  Begin("/a", {0, 1, 2});
  router_.Write(2, Line(4));
  router_.Write(1, Line(4));
  router_.Write(1, Line(99));
  console_.Finish();
  EXPECT_EQ(folder_.Read("a/rank-4.out"), "line\n");
  EXPECT_THAT(acknowledged_, ElementsAre(Pair(2, 5), Pair(1, 5), Pair(1, 5)));
}

// Output of PyTorch 2.11 for a requested flight record.
TEST_F(OutputRouterTest, RequestedOutputIsNoSignOfLife) {
  const auto logs = RankLogs::Create(plan_, folder_.path() + "/a", {}).value();
  router_.Begin(logs, plan_, {0, 1, 2});
  v1::Output output = Line(2);
  output.set_data(
      "[rank2]:[E1126 07:53:06.164112849 ProcessGroupNCCL.cpp:1628] [PG ID 0 PG GUID 0(default_pg) "
      "Rank 2] ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1, only active "
      "collectives: 0\n");
  router_.Write(1, output);
  EXPECT_EQ(router_.last_ms(), 0);
  router_.Write(1, Line(2, output.data().size()));
  EXPECT_NE(router_.last_ms(), 0);
  console_.Finish();
  EXPECT_EQ(folder_.Read("a/rank-2.out"), output.data() + "line\n");
  EXPECT_EQ(logs->LastReport(2).last_line, "line");
}

TEST_F(OutputRouterTest, ProgressOfRanksOfOtherNodesIsIgnored) {
  const auto logs = RankLogs::Create(plan_, folder_.path() + "/a", {}).value();
  router_.Begin(logs, plan_, {0, 1, 2});
  v1::ProgressLine reported;
  reported.set_rank(4);
  reported.set_line("{\"step\": 7}");
  router_.TakeProgressLine(1, reported);
  EXPECT_FALSE(logs->LastReport(4).progress);
  router_.TakeProgressLine(2, reported);
  ASSERT_TRUE(logs->LastReport(4).progress);
  EXPECT_EQ(logs->LastReport(4).progress->step(), 7u);
  router_.End();
  router_.TakeProgressLine(2, reported);
}

TEST_F(OutputRouterTest, OutputGoesToTheRunningAttempt) {
  Begin("/a", {0, 1, 2});
  router_.Write(0, Line(0));
  Begin("/b", {0, 2, 1});
  router_.Write(2, Line(2));
  router_.Write(1, Line(2));  // as in the previous attempt
  console_.Finish();
  EXPECT_EQ(folder_.Read("a/rank-0.out"), "line\n");
  EXPECT_EQ(folder_.Read("b/rank-2.out"), "line\n");
}

TEST_F(OutputRouterTest, AFloodMayContinueWhenOutputIsIgnored) {
  Begin("/a", {0, 1, 2});
  std::jthread flood([this](const std::stop_token& stop) {
    for (uint64_t offset = 0; !stop.stop_requested(); offset += 5)
      router_.Write(0, Line(0, offset));
  });
  while (console_.written() == 0) std::this_thread::yield();
  router_.End();
  Begin("/b", {0, 1, 2});
  router_.End();
  flood.request_stop();
  flood.join();
}

}  // namespace
}  // namespace autodist::chief
