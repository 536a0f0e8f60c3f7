// Job: ports that somebody else has.
#include <algorithm>

#include "base/log.h"
#include "chief/job.h"

namespace autodist::chief {

// Whether another plan would have other ports in their place.
bool Job::CanMovePorts() const {
  return options_.plan_attempt &&
         std::ranges::count(ports_taken_, options_.fixed_port, &TakenPort::port) == 0;
}

Status Job::PortsAreTaken() const {
  std::string text;
  for (const TakenPort& taken : ports_taken_) {
    text += (text.empty() ? "" : ", ") + std::to_string(taken.port) + " on " + taken.address;
  }
  return WithRemedy(
      Error(StatusCode::kUnavailable, "somebody else has port " + text),
      CanMovePorts() ? "others had been tried before; look at what takes so many, with `ss -tlnp`"
                     : "choose another one with --master-port, or leave the choice to autodist");
}

// Before anything runs: another plan, until nobody else has its ports.
std::optional<int> Job::MovePorts() {
  ports_taken_ = PortsTaken(plan_, launched_);
  for (uint32_t moves = 0; !ports_taken_.empty(); ++moves) {
    if (!CanMovePorts() || moves == kMostMoves) {
      base::LogFailure(Annotate(PortsAreTaken(), "nothing was started"));
      return kExitCannotLaunch;
    }
    auto next = PlanAttempt(0, attempt_->members);
    auto prepared = next.ok() ? PrepareNodes(**next) : next.status();
    if (!prepared.ok()) {
      if (interrupted_by_ != 0) return Refused();
      base::LogFailure(Annotate(prepared.status(), "nothing was started"));
      return kExitCannotLaunch;
    }
    launched_ = *std::move(prepared);
    if (const auto refused = Refused()) return refused;
    const std::lock_guard lock(output_mutex_);
    attempt_ = *std::move(next);
  }
  return std::nullopt;
}

// Whether the first rank that failed could not open a port that was free a moment before.
bool Job::LostARaceForAPort() {
  const Cause& cause = *attempt_->state.cause();
  if (!options_.plan_attempt || races_lost_ == kMostMoves ||
      cause.kind != Cause::Kind::kRankFailed ||
      base::Deadline::Clock::now() - attempt_->began > RestartPolicy::kCrashLoop) {
    return false;
  }
  const v1::NodePlan node = attempt_->plan.nodes(static_cast<int>(cause.node_rank));
  if (node.ports().empty()) return false;
  End(false);  // what it wrote may come later than that it ended
  return TellsOfTakenPort(attempt_->output->LastLines(attempt_->state.cause()->exit.rank()), node,
                          options_.fixed_port);
}

}  // namespace autodist::chief
