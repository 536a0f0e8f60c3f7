#include "chief/start/checkpoints.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace autodist::chief {
namespace {

constexpr int64_t kCheckpointSecond = 1'000'000'000;
constexpr int64_t kCheckpointNoon = 1'764'504'000;  // 2025-11-30 12:00:00 UTC

NodeCheckpoint Newest(const std::string& address, const std::string& name = "",
                      int64_t after_s = 0) {
  NodeCheckpoint node{address, {}};
  node.newest.set_name(name);
  if (!name.empty()) node.newest.set_written_ns((kCheckpointNoon + after_s) * kCheckpointSecond);
  return node;
}

TEST(CheckpointsTest, OneNodeHasNothingToCompare) {
  v1::JobRequest request;
  EXPECT_FALSE(CheckpointsToCompare(request, 2));
  request.set_checkpoint_dir("ckpt");
  request.set_log_dir("/logs/");
  EXPECT_FALSE(CheckpointsToCompare(request, 1));
  ASSERT_TRUE(CheckpointsToCompare(request, 2));
  EXPECT_EQ(CheckpointsToCompare(request, 2)->folder(), "ckpt");
  EXPECT_EQ(CheckpointsToCompare(request, 2)->left_out(0), "/logs");
}

TEST(CheckpointsTest, OnlyDifferentOnesAreNamed) {
  setenv("TZ", "UTC", 1);
  tzset();
  struct Row {
    const char* what;
    std::vector<NodeCheckpoint> nodes;
    std::string text;
  };
  const Row rows[] = {
      {"no answers", {}, ""},
      {"a first start", {Newest("a"), Newest("b")}, ""},
      {"a shared folder", {Newest("a", "step-2/m.pt"), Newest("b", "step-2/m.pt")}, ""},
      {"shards in a folder", {Newest("a", "step-2/0.pt"), Newest("b", "step-2/1.pt", 50)}, ""},
      {"shards beside each other", {Newest("a", "step-2.0"), Newest("b", "step-2.1", 4)}, ""},
      {"a node without any",
       {Newest("a"), Newest("b", "step-2/m.pt"), Newest("c", "step-2/m.pt")},
       "b and c have step-2/m.pt of 2025-11-30 12:00:00, a has none"},
      {"a node that was away",
       {Newest("a", "last.pt", 120), Newest("b", "last.pt")},
       "a has last.pt of 2025-11-30 12:02:00, b has last.pt of 2025-11-30 12:00:00"},
      {"another step",
       {Newest("a", "step-1/m.pt"), Newest("b", "step-2/m.pt", 10)},
       "b has step-2/m.pt of 2025-11-30 12:00:10, a has step-1/m.pt of 2025-11-30 12:00:00"},
      {"each has another",
       {Newest("a", "4", 400), Newest("b", "3", 300), Newest("c", "2", 200), Newest("d")},
       "a has 4 of 2025-11-30 12:06:40, b has 3 of 2025-11-30 12:05:00, c has 2 of 2025-11-30 "
       "12:03:20, and 1 other node has older ones or none"},
  };
  for (const Row& row : rows) EXPECT_EQ(CheckpointsDiffer(row.nodes), row.text) << row.what;
}

}  // namespace
}  // namespace autodist::chief
