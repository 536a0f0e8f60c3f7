#include "chief/start/port_races.h"

#include "chief/policy/restart_policy.h"
#include "chief/start/taken_ports.h"

namespace autodist::chief {
namespace {

constexpr uint32_t kMostLost = 5;  // in a job

}  // namespace

bool PortRaces::MayHaveLost(const Attempt& attempt) const {
  const Cause& cause = *attempt.state().cause();
  return options_.plan_attempt && lost_ < kMostLost && cause.kind == Cause::Kind::kRankFailed &&
         loop_.Now() - attempt.began <= RestartPolicy::kCrashLoop &&
         !attempt.member_plan(cause.node_rank).ports().empty();
}

bool PortRaces::Lost(const Attempt& attempt) {
  const Cause& cause = *attempt.state().cause();
  const bool lost =
      MayHaveLost(attempt) &&
      SaysPortIsTaken(attempt.logs->LastWordsOf(cause.exit.rank()),
                      attempt.member_plan(cause.node_rank), options_.request().master_port());
  if (lost) ++lost_;
  return lost;
}

}  // namespace autodist::chief
