#include "chief/output/report.h"

#include <algorithm>

#include "base/seconds.h"
#include "base/signal_name.h"

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

std::string RankReport(const Attempt& attempt, const Cause& cause) {
  const std::string rank = std::to_string(cause.exit.rank());
  std::string text =
      NameAndNode(attempt.plan, cause.node_rank, cause.exit.rank()) +
      (cause.exit.pid() > 0 ? " (pid " + std::to_string(cause.exit.pid()) + ") " : " ") +
      HowItEnded(cause.exit) + "\n";
  const std::vector<std::string> lines = attempt.output->LastLines(cause.exit.rank());
  text += lines.empty() ? "  it wrote nothing\n" : "  its last lines:\n";
  for (const std::string& line : lines) text += "    | " + line + "\n";
  return text + "  all it wrote: " + attempt.folder + "/rank-" + rank + ".out and .err\n";
}

std::string OthersReport(const JobState& state) {
  std::string text;
  const auto add = [&](int count, const std::string& what) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add(state.ended_by_stop_signal(), "ended on " + base::SignalName(state.stop_signal()));
  add(state.ended_by_kill(), "needed SIGKILL");
  add(state.ended_themselves(), "ended themselves");
  return text.empty() ? "" : "  other ranks were stopped: " + text + "\n";
}

}  // namespace

std::string NameAndNode(const v1::LaunchPlan& plan, uint32_t node_rank, uint32_t rank) {
  const v1::NodePlan& node = plan.nodes(static_cast<int>(node_rank));
  const auto found = std::ranges::find(node.ranks(), rank, &v1::RankPlan::rank);
  return (found != node.ranks().end() ? found->name() : "a process") + " on " + node.address();
}

std::string HowItEnded(const v1::RankExited& exit) {
  switch (exit.how_case()) {
    case v1::RankExited::kExitCode:
      return "exited with code " + std::to_string(exit.exit_code());
    case v1::RankExited::kSignal:
      return "was ended by " + base::SignalName(exit.signal()) +
             (exit.core_dumped() ? " (core dumped)" : "");
    case v1::RankExited::kStartFailure:
      return "could not be started: " + exit.start_failure().cause();
    case v1::RankExited::kAborted:
      return "called MPI_Abort with " + std::to_string(exit.aborted().status()) +
             (exit.aborted().message().empty() ? "" : ": " + exit.aborted().message());
    case v1::RankExited::HOW_NOT_SET:
      break;
  }
  return "ended in an unknown way";
}

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

std::vector<TakenPort> PortsTaken(const v1::LaunchPlan& plan,
                                  const std::vector<launch::LaunchedNode>& nodes) {
  std::vector<TakenPort> taken;
  for (const launch::LaunchedNode& node : nodes) {
    for (const uint32_t port : node.prepared.ports_taken()) {
      taken.push_back({port, plan.nodes(static_cast<int>(node.node_rank)).address()});
    }
  }
  return taken;
}

// Programs print the text of EADDRINUSE, whose case differs, or its name; and most the port.
bool TellsOfTakenPort(const std::vector<std::string>& lines, const v1::NodePlan& node,
                      uint32_t fixed) {
  const auto told = [&](const std::string& what) {
    return std::ranges::any_of(
        lines, [&](const std::string& line) { return line.find(what) != std::string::npos; });
  };
  return (told("ddress already in use") || told("EADDRINUSE")) &&
         std::ranges::any_of(node.ports(), [&](uint32_t port) {
           return port != fixed && told(std::to_string(port));
         });
}

std::string DescribeCause(const JobState& state, const v1::LaunchPlan& plan) {
  const Cause& cause = *state.cause();
  const auto address = [&] { return plan.nodes(static_cast<int>(cause.node_rank)).address(); };
  switch (cause.kind) {
    case Cause::Kind::kRankFailed:
      return NameAndNode(plan, cause.node_rank, cause.exit.rank()) + " " + HowItEnded(cause.exit);
    case Cause::Kind::kNodeLost:
      return "node " + address() + " was lost: " + Message(cause.status);
    case Cause::Kind::kInterrupted:
      return "stopped by " + base::SignalName(cause.signal);
    case Cause::Kind::kTimedOut:
      return "stopped, as its time is up (--timeout)";
    case Cause::Kind::kHung:
      break;
  }
  return "stopped, as no rank gave a sign of life (--hang-timeout)";
}

std::string HangReport(const Attempt& attempt, std::chrono::milliseconds time) {
  std::string text = "no rank has written anything for " + base::Seconds(time) + "; last lines:\n";
  for (const v1::NodePlan& node : attempt.plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      const std::vector<std::string> lines = attempt.output->LastLines(rank.rank());
      text += "  " + rank.name() + " on " + node.address() + ": " +
              (lines.empty() ? "none" : lines.back()) + "\n";
    }
  }
  text.pop_back();
  return text;
}

std::string EndReport(const Attempt& attempt) {
  const JobState& state = attempt.state;
  std::string text;
  if (state.cause()) {
    text = state.cause()->kind == Cause::Kind::kRankFailed
               ? RankReport(attempt, *state.cause())
               : DescribeCause(state, attempt.plan) + "\n";
    text += OthersReport(state);
  }
  for (const std::string& trouble : attempt.troubles) text += "  " + trouble + "\n";
  for (const std::string& trouble : attempt.output->troubles()) text += "  " + trouble + "\n";
  if (!text.empty()) text.pop_back();  // the last line feed
  return text;
}

}  // namespace autodist::chief
