#include "chief/report.h"

#include <string.h>

#include <algorithm>

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

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

std::string HowItEnded(const v1::RankExited& exit) {
  switch (exit.how_case()) {
    case v1::RankExited::kExitCode:
      return "exited with code " + std::to_string(exit.exit_code());
    case v1::RankExited::kSignal:
      return "was ended by " + SignalName(exit.signal()) +
             (exit.core_dumped() ? " (core dumped)" : "");
    case v1::RankExited::kStartFailure:
      return "could not be started: " + exit.start_failure().cause();
    case v1::RankExited::HOW_NOT_SET:
      break;
  }
  return "ended in an unknown way";
}

std::string RankReport(const v1::LaunchPlan& plan, const Cause& cause, const OutputWriter& output,
                       const std::string& log_folder) {
  const std::string rank = std::to_string(cause.exit.rank());
  const std::string node = plan.nodes(static_cast<int>(cause.node_rank)).address();
  std::string text =
      "rank " + rank + " on " + node +
      (cause.exit.pid() > 0 ? " (pid " + std::to_string(cause.exit.pid()) + ") " : " ") +
      HowItEnded(cause.exit) + "\n";
  const std::vector<std::string> lines = output.LastLines(cause.exit.rank());
  text += lines.empty() ? "  it wrote nothing\n" : "  its last lines:\n";
  for (const std::string& line : lines) text += "    | " + line + "\n";
  return text + "  all it wrote: " + log_folder + "/rank-" + rank + ".out and .err\n";
}

std::string OthersReport(const JobState& state) {
  std::string text;
  const auto add = [&](int count, const std::string& what) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add(state.ended_by_term(), "ended on SIGTERM");
  add(state.ended_by_kill(), "needed SIGKILL");
  add(state.ended_themselves(), "ended themselves");
  return text.empty() ? "" : "  other ranks were stopped: " + text + "\n";
}

}  // namespace

std::string LaunchReport(const v1::LaunchPlan& plan, const std::vector<LaunchedNode>& nodes) {
  std::string text;
  int failed = 0;
  for (const LaunchedNode& node : nodes) {
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

int LaunchExitCode(const std::vector<LaunchedNode>& nodes) {
  int code = 0;
  for (const LaunchedNode& node : nodes) {
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

std::string EndReport(const v1::LaunchPlan& plan, const JobState& state, const OutputWriter& output,
                      const std::string& log_folder) {
  if (!state.cause()) return "";
  const Cause& cause = *state.cause();
  std::string text;
  switch (cause.kind) {
    case Cause::Kind::kRankFailed:
      text = RankReport(plan, cause, output, log_folder);
      break;
    case Cause::Kind::kNodeLost:
      text = "node " + plan.nodes(static_cast<int>(cause.node_rank)).address() +
             " was lost: " + Message(cause.status) +
             "\n  if its agent still runs, it ends the ranks there when its lease runs out\n";
      break;
    case Cause::Kind::kInterrupted:
      text = "stopped by " + SignalName(cause.signal) + "\n";
      break;
  }
  text += OthersReport(state);
  text.pop_back();  // the last line feed
  return text;
}

}  // namespace autodist::chief
