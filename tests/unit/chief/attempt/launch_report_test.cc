#include "chief/attempt/launch_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/plans.h"

namespace autodist::chief {
namespace {

std::vector<launch::LaunchedNode> AllReady() {
  std::vector<launch::LaunchedNode> nodes(3);
  for (uint32_t i = 0; i < 3; ++i) nodes[i].node_rank = i;
  return nodes;
}

void AddProblem(launch::LaunchedNode& node, v1::ProblemKind kind, const std::string& cause) {
  v1::Problem& problem = *node.prepared.add_problems();
  problem.set_kind(kind);
  problem.set_cause(cause);
  problem.set_remedy("mend it");
}

TEST(LaunchReportTest, NamesEveryBadNodeWithCauseAndRemedy) {
  std::vector<launch::LaunchedNode> nodes = AllReady();
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
  std::vector<launch::LaunchedNode> nodes = AllReady();
  AddProblem(nodes[1], v1::PROBLEM_KIND_COMMAND_NOT_EXECUTABLE, "x");
  EXPECT_EQ(LaunchExitCode(nodes), 126);
  AddProblem(nodes[2], v1::PROBLEM_KIND_COMMAND_NOT_FOUND, "x");
  EXPECT_EQ(LaunchExitCode(nodes), 127);
}

}  // namespace
}  // namespace autodist::chief
