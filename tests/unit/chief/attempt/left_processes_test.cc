#include "chief/attempt/left_processes.h"

#include <gtest/gtest.h>

#include <vector>

namespace autodist::chief {
namespace {

v1::NodePlan NodeOf(const std::vector<std::string>& programs) {
  v1::NodePlan node;
  node.set_address("host1");
  for (uint32_t rank = 0; rank < programs.size(); ++rank) {
    v1::RankPlan& plan = *node.add_ranks();
    plan.set_rank(rank);
    plan.set_name("rank " + std::to_string(rank));
    plan.add_argv(programs[rank]);
  }
  return node;
}

v1::ProcessesLeft LeftBy(v1::LeftStage stage, const std::vector<uint32_t>& ranks) {
  v1::ProcessesLeft left;
  left.set_stage(stage);
  for (const uint32_t rank : ranks) {
    v1::LeftProcess& process = *left.add_processes();
    process.set_pid(70 + left.processes_size());
    process.set_name("python3");
    process.set_rank(rank);
  }
  return left;
}

TEST(LeftProcessesTest, OnlyAStartScriptLeavesItsProgram) {
  const v1::NodePlan node =
      NodeOf({"/bin/sh", "./start.sh", "/usr/bin/python3", "bash", "./crash"});
  const v1::ProcessesLeft left = LeftBy(v1::LEFT_STAGE_SIGNALLED, {0, 1, 2, 9});
  EXPECT_EQ(ProcessName(*LeftByScript(left, node, 0)), "python3 (pid 71)");
  EXPECT_EQ(ProcessName(*LeftByScript(left, node, 1)), "python3 (pid 72)");
  for (const uint32_t rank : {2u, 3u, 4u, 9u}) {
    EXPECT_EQ(LeftByScript(left, node, rank), nullptr) << rank;
  }
}

TEST(LeftProcessesTest, ANameIsOneLineWithoutControlCharacters) {
  v1::LeftProcess process;
  process.set_pid(7);
  process.set_name("a\nautodist: error: b\x1b[2J");
  const std::string name = ProcessName(process);
  EXPECT_EQ(name.find_first_of("\n\x1b"), std::string::npos) << name;
}

TEST(LeftProcessesTest, Texts) {
  struct Case {
    v1::LeftStage stage;
    std::vector<uint32_t> ranks;
    bool all_ended;
    const char* text;
  };
  const Case cases[] = {
      {v1::LEFT_STAGE_SIGNALLED, {0}, true, ""},
      {v1::LEFT_STAGE_AWAITED, {}, true, ""},
      {v1::LEFT_STAGE_AWAITED,
       {0},
       true,
       "no rank runs any more; waiting for python3 (pid 71) on host1, which rank 0 left"},
      {v1::LEFT_STAGE_AWAITED,
       {9, 0, 0},
       false,
       "waiting for python3 (pid 71) on host1, which a rank left, and 2 others there"},
      {v1::LEFT_STAGE_KILLED,
       {0},
       true,
       "python3 (pid 71) on host1, which rank 0 left, did not end in time and was killed"},
      {v1::LEFT_STAGE_KILLED,
       {0, 0},
       true,
       "python3 (pid 71) on host1, which rank 0 left, and 1 other there, did not end in time and "
       "were killed"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(TextOfLeft(LeftBy(one.stage, one.ranks), NodeOf({"python3"}), one.all_ended),
              one.text);
  }
}

}  // namespace
}  // namespace autodist::chief
