#include "chief/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "support/plans.h"
#include "support/temp_folder.h"

namespace autodist::chief {
namespace {

using testing::HasSubstr;

std::vector<LaunchedNode> AllReady() {
  std::vector<LaunchedNode> nodes(3);
  for (uint32_t i = 0; i < 3; ++i) nodes[i].node_rank = i;
  return nodes;
}

void AddProblem(LaunchedNode& node, v1::ProblemKind kind, const std::string& cause) {
  v1::Problem& problem = *node.prepared.add_problems();
  problem.set_kind(kind);
  problem.set_cause(cause);
  problem.set_remedy("mend it");
}

TEST(LaunchReportTest, NamesEveryBadNodeWithCauseAndRemedy) {
  std::vector<LaunchedNode> nodes = AllReady();
  EXPECT_EQ(LaunchReport(test::ThreeNodePlan(), nodes), "");
  EXPECT_EQ(LaunchExitCode(nodes), 0);
  nodes[1].status = WithRemedy(Error(StatusCode::kUnavailable, "refused"), "start sshd");
  AddProblem(nodes[2], v1::PROBLEM_KIND_WORKING_DIRECTORY, "no folder");
  AddProblem(nodes[2], v1::PROBLEM_KIND_COMMAND_NOT_FOUND, "no program");
  EXPECT_EQ(LaunchReport(test::ThreeNodePlan(), nodes),
            "nothing was started, because 2 of 3 nodes cannot run the job:\n"
            "  10.0.0.2:\n"
            "    refused\n"
            "    to do: start sshd\n"
            "  node3:\n"
            "    no folder\n"
            "    to do: mend it\n"
            "    no program\n"
            "    to do: mend it");
  EXPECT_EQ(LaunchExitCode(nodes), 125);
}

TEST(LaunchReportTest, ACommandThatIsMissingHasTheShellsExitCode) {
  std::vector<LaunchedNode> nodes = AllReady();
  AddProblem(nodes[1], v1::PROBLEM_KIND_COMMAND_NOT_EXECUTABLE, "x");
  EXPECT_EQ(LaunchExitCode(nodes), 126);
  AddProblem(nodes[2], v1::PROBLEM_KIND_COMMAND_NOT_FOUND, "x");
  EXPECT_EQ(LaunchExitCode(nodes), 127);
}

TEST(EndReportTest, NamesTheRankThatFailedItsLastLinesAndTheRest) {
  const v1::LaunchPlan plan = test::ThreeNodePlan();
  const test::TempFolder folder;
  auto output = OutputWriter::Create(plan, folder.path(), [](uint32_t, const v1::OutputAck&) {});
  ASSERT_TRUE(output.ok());
  testing::internal::CaptureStdout();
  v1::Output last;
  last.set_rank(4);
  last.set_stream(v1::OUTPUT_STREAM_STDOUT);
  last.set_data("boom\n");
  (*output)->Write(last);
  (*output)->Finish();
  testing::internal::GetCapturedStdout();

  JobState state(plan);
  EXPECT_EQ(EndReport(plan, state, **output, "logs"), "");
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_pid(99);
  exit.set_signal(SIGSEGV);
  exit.set_core_dumped(true);
  state.RankExited(exit);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    v1::RankExited other;
    other.set_rank(rank);
    other.set_signal(rank < 3 ? SIGTERM : SIGKILL);
    state.RankExited(other);
  }
  EXPECT_EQ(EndReport(plan, state, **output, "logs"),
            "rank 4 on node3 (pid 99) was ended by SIGSEGV (core dumped)\n"
            "  its last lines:\n"
            "    | boom\n"
            "  all it wrote: logs/rank-4.out and .err\n"
            "  other ranks were stopped: 3 ended on SIGTERM, 1 needed SIGKILL");
}

}  // namespace
}  // namespace autodist::chief
