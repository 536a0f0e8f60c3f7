#include "chief/start/taken_ports.h"

#include <algorithm>
#include <iterator>

#include "chief/policy/restart_policy.h"

namespace autodist::chief {
namespace {

constexpr uint32_t kMaxLost = 5;  // per job

// Returns whether a rank's last output says that it could not open one of the node's ports, other
// than `fixed`. Programs print the text of EADDRINUSE, in different case, or its name; most print
// the port.
bool SaysPortIsTaken(const FailureExcerpt& excerpt, const v1::NodePlan& node, uint32_t fixed) {
  std::vector<std::string> lines = excerpt.Lines(display::kStderr);
  std::ranges::move(excerpt.Lines(display::kStdout), std::back_inserter(lines));
  if (excerpt.fatal()) std::ranges::copy(excerpt.fatal()->lines, std::back_inserter(lines));
  const auto reported = [&](const std::string& what) {
    return std::ranges::any_of(
        lines, [&](const std::string& line) { return line.find(what) != std::string::npos; });
  };
  return (reported("ddress already in use") || reported("EADDRINUSE")) &&
         std::ranges::any_of(node.ports(), [&](uint32_t port) {
           return port != fixed && reported(std::to_string(port));
         });
}

}  // namespace

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

Status PortsTakenError(const std::vector<TakenPort>& taken, bool movable) {
  std::string text;
  for (const TakenPort& port : taken) {
    text += (text.empty() ? "" : ", ") + std::to_string(port.port) + " on " + port.address;
  }
  return WithRemedy(
      Error(StatusCode::kUnavailable, (taken.size() == 1 ? "port " : "ports ") + text +
                                          (taken.size() == 1 ? " is in use" : " are in use")),
      movable ? "find the programs that use them with `ss -tlnp`; other ports were tried before"
              : "choose another port with --master-port, or leave the option out");
}

bool PortRaces::MayHaveLost(const Attempt& attempt) const {
  const Cause& cause = *attempt.state().cause();
  return options_.plan_attempt && lost_ < kMaxLost && cause.kind == Cause::Kind::kRankFailed &&
         loop_.Now() - attempt.began <= RestartPolicy::kCrashLoop &&
         !attempt.member_plan(cause.node_rank).ports().empty();
}

bool PortRaces::Lost(const Attempt& attempt) {
  const Cause& cause = *attempt.state().cause();
  const bool lost =
      MayHaveLost(attempt) &&
      SaysPortIsTaken(attempt.logs->ExcerptOf(cause.exit.rank()),
                      attempt.member_plan(cause.node_rank), options_.request().master_port());
  if (lost) ++lost_;
  return lost;
}

}  // namespace autodist::chief
