#include "chief/start/restart_decision.h"

#include "chief/start/taken_ports.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;

// Attempts more because of ports that were taken.
constexpr uint32_t kMostRaces = 5;

}  // namespace

bool RestartDecision::MayHaveLostPortRace(const Attempt& attempt) const {
  const Cause& cause = *attempt.state().cause();
  return options_.plan_attempt && races_lost_ < kMostRaces &&
         cause.kind == Cause::Kind::kRankFailed &&
         loop_.Now() - attempt.began <= RestartPolicy::kCrashLoop &&
         !attempt.member_plan(cause.node_rank).ports().empty();
}

bool RestartDecision::LostPortRace(const Attempt& attempt) const {
  const Cause& cause = *attempt.state().cause();
  return MayHaveLostPortRace(attempt) &&
         SaysPortIsTaken(attempt.logs->LastWordsOf(cause.exit.rank()),
                         attempt.member_plan(cause.node_rank), options_.request().master_port());
}

std::optional<milliseconds> RestartDecision::WaitAfter(const Attempt& attempt) {
  if (LostPortRace(attempt)) {
    ++races_lost_;
    return milliseconds(0);
  }
  AttemptOutcome outcome{*attempt.state().cause()};
  outcome.ran = attempt.state().ran();
  outcome.nodes_there = nodes_.staying();
  for (const uint32_t node : attempt.nodes()) outcome.nodes_missing |= !nodes_.Stays(node);
  outcome.lasted = std::chrono::duration_cast<milliseconds>(loop_.Now() - attempt.began);
  return restarts_.Next(outcome);
}

}  // namespace autodist::chief
