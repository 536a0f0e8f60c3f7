#include "chief/report.h"

#include "base/seconds.h"
#include "base/signal_name.h"

namespace autodist::chief {
namespace {

std::string RankReport(const Attempt& attempt, const Cause& cause) {
  const std::string rank = std::to_string(cause.exit.rank());
  std::string text =
      NameAndNode(attempt.plan(), cause.node_rank, cause.exit.rank()) +
      (cause.exit.pid() > 0 ? " (pid " + std::to_string(cause.exit.pid()) + ") " : " ") +
      HowItEnded(cause) + "\n";
  const std::vector<std::string> lines = attempt.logs->LastLines(cause.exit.rank());
  text += lines.empty() ? "  it wrote nothing\n" : "  its last lines:\n";
  for (const std::string& line : lines) text += "    | " + line + "\n";
  return text + "  all it wrote: " + attempt.folder() + "/rank-" + rank + ".out and .err\n";
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

std::string HangReport(const Attempt& attempt, std::chrono::milliseconds time) {
  std::string text = "no rank has written anything for " + base::Seconds(time) + "; last lines:\n";
  for (const v1::NodePlan& node : attempt.plan().nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      const std::vector<std::string> lines = attempt.logs->LastLines(rank.rank());
      text += "  " + rank.name() + " on " + node.address() + ": " +
              (lines.empty() ? "none" : lines.back()) + "\n";
    }
  }
  text.pop_back();
  return text;
}

std::string EndReport(const Attempt& attempt, const std::vector<std::string>& terminal_warnings) {
  const JobState& state = attempt.state();
  std::string text;
  if (state.cause()) {
    text = state.cause()->kind == Cause::Kind::kRankFailed
               ? RankReport(attempt, *state.cause())
               : DescribeCause(*state.cause(), attempt.plan()) + "\n";
    text += OthersReport(state);
  }
  for (const auto& warnings : {attempt.warnings, attempt.logs->warnings(), terminal_warnings}) {
    for (const std::string& warning : warnings) text += "  " + warning + "\n";
  }
  if (!text.empty()) text.pop_back();  // the last line feed
  return text;
}

}  // namespace autodist::chief
