#include "chief/attempt/job_state.h"

#include <algorithm>
#include <utility>

#include "base/exit_codes.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kNoticedWithin{250};

// These signals are not caused by another rank, unless it is our SIGKILL.
bool EndedFromOutside(const v1::RankExited& exit) {
  constexpr int kSignals[] = {SIGKILL, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
  return std::ranges::count(kSignals, exit.signal()) > 0;
}

}  // namespace

JobState::JobState(const v1::LaunchPlan& plan, int stop_signal, milliseconds grace)
    : stop_signal_(stop_signal),
      grace_(grace),
      running_on_(static_cast<size_t>(plan.nodes_size())),
      serving_on_(running_on_),
      planned_on_(running_on_.size()) {
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      (rank.auxiliary() ? node_of_serving_ : node_of_running_)[rank.rank()] = node.node_rank();
      ++(rank.auxiliary() ? serving_on_ : running_on_)[node.node_rank()];
      planned_on_[node.node_rank()].push_back(rank.rank());
    }
  }
}

bool JobState::Stop(Cause cause) {
  if (cause_) {
    later_.push_back(std::move(cause));
    return false;
  }
  cause_ = std::move(cause);
  return !AllEnded();
}

// A rank's agent notices its end no sooner than its peers do over the network. The chief sends
// SIGKILL only after the grace period.
milliseconds JobState::NoticedWithin(const v1::RankExited& from_outside) const {
  return from_outside.signal() == SIGKILL ? std::max(grace_ - kNoticedWithin, milliseconds(0))
                                          : kNoticedWithin;
}

// Returns whether a failure that was reported after the cause happened before it.
bool JobState::CameFirst(const v1::RankExited& exit) const {
  if (cause_->kind != Cause::Kind::kRankFailed || ExitCodeOf(exit) == 0) return false;
  if (exit.signal() == stop_signal_ || (killed_ && exit.signal() == SIGKILL)) return false;
  const std::chrono::nanoseconds later(exit.time_ns() - cause_->exit.time_ns());
  const bool from_outside = EndedFromOutside(exit);
  if (from_outside == EndedFromOutside(cause_->exit)) return later < later.zero();
  return from_outside ? later < NoticedWithin(exit) : later < -NoticedWithin(cause_->exit);
}

bool JobState::RankExited(const v1::RankExited& exit) {
  auto running = node_of_running_.extract(exit.rank());
  const bool serves = running.empty();
  if (serves) {
    // An auxiliary process matters as long as there are ranks.
    running = node_of_serving_.extract(exit.rank());
    if (running.empty()) return false;
    --serving_on_[running.mapped()];
    if (AllEnded()) return false;
  } else {
    --running_on_[running.mapped()];
  }
  if (!cause_) {
    if (ExitCodeOf(exit) == 0) {
      if (!serves) ended_well_.push_back({exit.rank(), running.mapped(), exit.time_ns()});
      return false;
    }
    return Stop({Cause::Kind::kRankFailed, running.mapped(), exit, OkStatus(), 0});
  }
  if (cause_->abort && cause_->exit.rank() == exit.rank()) return false;
  if (CameFirst(exit)) {
    Replace(exit, running.mapped(), std::nullopt);
  } else if (serves) {
    // Not a rank; the report counts ranks only.
  } else if (exit.signal() == stop_signal_) {
    later_ends_[exit.rank()] = LaterEnd::kByStopSignal;
  } else if (exit.signal() == SIGKILL) {
    later_ends_[exit.rank()] = LaterEnd::kByKill;
  } else if (exit.signalled() == stop_signal_ || exit.signalled() == SIGKILL) {
    later_ends_[exit.rank()] = LaterEnd::kAfterStopSignal;
  } else {
    EndedBefore(exit, running.mapped());
  }
  return false;
}

// It ended after the cause, but not because it was stopped.
void JobState::EndedBefore(const v1::RankExited& exit, uint32_t node_rank) {
  const bool passed_on = EndedByPassedOnSignal(exit);
  later_ends_[exit.rank()] = passed_on ? LaterEnd::kByPassedOn : LaterEnd::kBefore;
  if (passed_on) return;  // not by itself
  if (cause_->kind != Cause::Kind::kRankFailed || ExitCodeOf(exit) == 0) return;
  if (failed_too_ && failed_too_->exit.time_ns() <= exit.time_ns()) return;
  failed_too_ = {exit, node_rank};
}

// The former cause is now a consequence: a rank that ended, or will end soon after an abort.
void JobState::Replace(const v1::RankExited& exit, uint32_t node_rank,
                       std::optional<v1::RankAborted> abort) {
  if (!noticed_first_) noticed_first_ = cause_;
  if (!cause_->abort) EndedBefore(cause_->exit, cause_->node_rank);
  cause_->exit = exit;
  cause_->abort = std::move(abort);
  cause_->node_rank = node_rank;
}

bool JobState::RankAborted(const v1::RankAborted& aborted) {
  const auto running = node_of_running_.find(aborted.rank());
  if (running == node_of_running_.end()) return false;
  v1::RankExited exit;
  exit.set_rank(aborted.rank());
  exit.set_time_ns(aborted.time_ns());
  if (!cause_) {
    return Stop({Cause::Kind::kRankFailed, running->second, exit, OkStatus(), 0, aborted});
  }
  if (CameFirst(exit)) Replace(exit, running->second, aborted);
  return false;
}

uint32_t JobState::RunningOn(uint32_t node_rank) const {
  return running_on_[node_rank] + (AllEnded() ? 0 : serving_on_[node_rank]);
}

bool JobState::NodeLost(uint32_t node_rank, const Status& status, int64_t last_contact_ns) {
  Cause loss{Cause::Kind::kNodeLost, node_rank, {}, status, 0, {}, {}, last_contact_ns};
  const bool is_cause = WasEndedByAgent(node_rank);
  if (is_cause) {
    later_ends_[cause_->exit.rank()] = LaterEnd::kLost;
    cause_ = loss;
  }
  if (RunningOn(node_rank) == 0) return false;
  for (const uint32_t rank : planned_on_[node_rank]) {
    if (node_of_running_.erase(rank) > 0) later_ends_[rank] = LaterEnd::kLost;
  }
  running_on_[node_rank] = 0;
  if (!AllEnded()) {
    for (const uint32_t rank : planned_on_[node_rank]) node_of_serving_.erase(rank);
    serving_on_[node_rank] = 0;
  }
  if (is_cause || (evicted_ && cause_->node_rank == node_rank)) return false;
  return Stop(std::move(loss));
}

// Returns whether the cause is a rank of the node that its agent killed without an order, as it
// does without its watchdog.
bool JobState::WasEndedByAgent(uint32_t node_rank) const {
  return cause_ && cause_->kind == Cause::Kind::kRankFailed && cause_->node_rank == node_rank &&
         !cause_->abort && cause_->exit.signal() == SIGKILL && cause_->exit.signalled() == SIGKILL;
}

bool JobState::NodeEvicted(uint32_t node_rank, const Status& status) {
  if (cause_ || RunningOn(node_rank) == 0) return false;
  evicted_ = true;
  return Stop({Cause::Kind::kNodeLost, node_rank, {}, status, 0});
}

bool JobState::Interrupted(int signal, const std::string& by) {
  if (AllEnded() && !cause_) return false;
  const bool stops_already = !AllEnded() && std::exchange(evicted_, false);
  if (stops_already) cause_.reset();
  return Stop({Cause::Kind::kInterrupted, 0, {}, OkStatus(), signal, {}, by}) && !stops_already;
}

bool JobState::TimedOut() {
  return (cause_ || !AllEnded()) && Stop({Cause::Kind::kTimedOut, 0, {}, OkStatus(), 0});
}

bool JobState::Hung() {
  return !cause_ && !AllEnded() && Stop({Cause::Kind::kHung, 0, {}, OkStatus(), 0});
}

int JobState::ExitCode() const {
  if (!cause_) return 0;
  switch (cause_->kind) {
    case Cause::Kind::kRankFailed:
      return cause_->abort ? ExitCodeOf(*cause_->abort) : ExitCodeOf(cause_->exit);
    case Cause::Kind::kInterrupted:
      return 128 + cause_->signal;
    case Cause::Kind::kTimedOut:
    case Cause::Kind::kHung:
      return kExitTimedOut;
    case Cause::Kind::kNodeLost:
      break;
  }
  return kExitCannotLaunch;
}

}  // namespace autodist::chief
