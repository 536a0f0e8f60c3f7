#include "chief/job_state.h"

#include <signal.h>

namespace autodist::chief {

int ExitCodeOf(const v1::RankExited& exit) {
  switch (exit.how_case()) {
    case v1::RankExited::kExitCode:
      return exit.exit_code();
    case v1::RankExited::kSignal:
      return 128 + exit.signal();
    case v1::RankExited::kStartFailure:
      return exit.start_failure().exit_code();
    case v1::RankExited::HOW_NOT_SET:
      break;
  }
  return kExitCannotLaunch;
}

JobState::JobState(const v1::LaunchPlan& plan) {
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) node_of_running_[rank.rank()] = node.node_rank();
  }
}

JobState::Action JobState::Stop(Cause cause) {
  if (cause_) return Action::kNone;
  cause_ = std::move(cause);
  return AllEnded() ? Action::kNone : Action::kStop;
}

JobState::Action JobState::RankExited(const v1::RankExited& exit) {
  const auto running = node_of_running_.extract(exit.rank());
  if (running.empty()) return Action::kNone;
  if (!cause_) {
    if (ExitCodeOf(exit) == 0) return Action::kNone;
    return Stop({Cause::Kind::kRankFailed, running.mapped(), exit, OkStatus(), 0});
  }
  if (exit.signal() == SIGTERM) {
    ++ended_by_term_;
  } else if (exit.signal() == SIGKILL) {
    ++ended_by_kill_;
  } else {
    ++ended_themselves_;
  }
  return Action::kNone;
}

JobState::Action JobState::NodeLost(uint32_t node_rank, const Status& status) {
  lost_nodes_.insert(node_rank);
  const auto lost =
      std::erase_if(node_of_running_, [&](const auto& rank) { return rank.second == node_rank; });
  if (lost == 0) return Action::kNone;
  return Stop({Cause::Kind::kNodeLost, node_rank, {}, status, 0});
}

JobState::Action JobState::Interrupted(int signal) {
  if (!cause_) return Stop({Cause::Kind::kInterrupted, 0, {}, OkStatus(), signal});
  if (AllEnded()) return Action::kNone;
  if (kill_sent_) return Action::kGiveUp;
  kill_sent_ = true;
  return Action::kKill;
}

int JobState::ExitCode() const {
  if (!cause_) return 0;
  switch (cause_->kind) {
    case Cause::Kind::kRankFailed:
      return ExitCodeOf(cause_->exit);
    case Cause::Kind::kInterrupted:
      return 128 + cause_->signal;
    case Cause::Kind::kNodeLost:
      break;
  }
  return kExitCannotLaunch;
}

}  // namespace autodist::chief
