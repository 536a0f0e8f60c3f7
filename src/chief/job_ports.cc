// Job: ports that somebody else has.
#include "base/log.h"
#include "chief/job.h"
#include "chief/report.h"

namespace autodist::chief {

// Before anything runs: another plan, until nobody else has its ports.
std::optional<int> Job::MovePorts() {
  ports_taken_ = PortsTaken(plan_, launched_);
  for (uint32_t moves = 0; !ports_taken_.empty(); ++moves) {
    if (!options_.may_move_ports || moves == kMostMoves) {
      base::LogFailure(
          WithRemedy(Error(StatusCode::kUnavailable,
                           "nothing was started, because somebody else has port " + ports_taken_),
                     "choose another one with --master-port, or leave the choice to autodist"));
      return kExitCannotLaunch;
    }
    auto next = PlanAttempt(0, attempt_->members);
    if (!next.ok()) {
      base::LogFailure(next.status());
      return kExitCannotLaunch;
    }
    if (!PrepareNodes(**next)) return Refused().value_or(kExitCannotLaunch);
    const std::lock_guard lock(output_mutex_);
    attempt_ = *std::move(next);
  }
  return std::nullopt;
}

// Whether the first rank that failed could not open a port that was free a moment before.
bool Job::LostARaceForAPort() const {
  const Cause& cause = *attempt_->state.cause();
  if (!options_.may_move_ports || races_lost_ == kMostMoves ||
      cause.kind != Cause::Kind::kRankFailed ||
      base::Deadline::Clock::now() - attempt_->began > RestartPolicy::kCrashLoop) {
    return false;
  }
  const v1::NodePlan& node = attempt_->plan.nodes(static_cast<int>(cause.node_rank));
  return TellsOfTakenPort(attempt_->output->LastLines(cause.exit.rank()), node);
}

}  // namespace autodist::chief
