#include "chief/attempt/launch_report.h"

#include <algorithm>

#include "chief/exit_codes.h"

namespace autodist::chief {
namespace {

std::string Indented(const std::string& text, const std::string& indent) {
  std::string indented = indent;
  for (const char c : text) {
    indented += c;
    if (c == '\n') indented += indent;
  }
  return indented + "\n";
}

std::string CauseAndRemedy(const std::string& cause, const std::string& remedy) {
  std::string text = Indented(cause, "    ");
  if (!remedy.empty()) text += Indented("to do: " + remedy, "    ");
  return text;
}

}  // namespace

std::string LaunchReport(const v1::LaunchPlan& plan,
                         const std::vector<launch::LaunchedNode>& nodes) {
  std::string text;
  int failed = 0;
  for (const launch::LaunchedNode& node : nodes) {
    if (node.status.ok() && node.prepared.problems_size() == 0) continue;
    ++failed;
    text += "  " + plan.nodes(static_cast<int>(node.node_rank)).address() + ":\n";
    if (!node.status.ok()) text += CauseAndRemedy(Message(node.status), Remedy(node.status));
    for (const v1::Problem& problem : node.prepared.problems()) {
      text += CauseAndRemedy(problem.cause(), problem.remedy());
    }
  }
  if (failed == 0) return "";
  text.pop_back();  // the last line feed
  return "nothing was started, because " + std::to_string(failed) + " of " +
         std::to_string(nodes.size()) + " nodes cannot run the job:\n" + text;
}

int LaunchExitCode(const std::vector<launch::LaunchedNode>& nodes) {
  int code = 0;
  for (const launch::LaunchedNode& node : nodes) {
    if (!node.status.ok()) return kExitCannotLaunch;
    for (const v1::Problem& problem : node.prepared.problems()) {
      if (problem.kind() == v1::PROBLEM_KIND_COMMAND_NOT_FOUND) {
        code = std::max(code, kExitNotFound);
      } else if (problem.kind() == v1::PROBLEM_KIND_COMMAND_NOT_EXECUTABLE) {
        code = std::max(code, kExitNotExecutable);
      } else {
        return kExitCannotLaunch;
      }
    }
  }
  return code;
}

}  // namespace autodist::chief
