#include "snapshot/state_names.h"

namespace autodist::snapshot {
namespace {

// Exit codes of a job that SIGINT or SIGTERM ended, as in shells.
constexpr int32_t kInterrupted = 128 + 2;
constexpr int32_t kTerminated = 128 + 15;

}  // namespace

v1::Mark MarkOfState(v1::RankState state) {
  switch (state) {
    case v1::RANK_STATE_STARTING:
      return v1::MARK_STARTING;
    case v1::RANK_STATE_DISCONNECTED:
      return v1::MARK_DISCONNECTED;
    case v1::RANK_STATE_ENDED:
      return v1::MARK_ENDED;
    case v1::RANK_STATE_FAILED:
    case v1::RANK_STATE_LOST:
      return v1::MARK_FAILED;
    default:
      return v1::MARK_NONE;
  }
}

v1::Mark MarkOfPhase(v1::NodePhase phase) {
  return phase == v1::NODE_PHASE_RECONNECTING ? v1::MARK_DISCONNECTED
         : phase == v1::NODE_PHASE_LOST       ? v1::MARK_FAILED
                                              : v1::MARK_NONE;
}

v1::Mark MarkOf(v1::Issue::Kind kind) {
  switch (kind) {
    case v1::Issue::KIND_FAILED:
      return v1::MARK_FAILED;
    case v1::Issue::KIND_STALLED:
      return v1::MARK_STALLED;
    case v1::Issue::KIND_SLOW:
      return v1::MARK_SLOW;
    case v1::Issue::KIND_DISCONNECTED:
      return v1::MARK_DISCONNECTED;
    default:
      return v1::MARK_WARNING;
  }
}

std::string StateText(const v1::RankSnapshot& rank) {
  switch (rank.state()) {
    case v1::RANK_STATE_STARTING:
      return "starting";
    case v1::RANK_STATE_RUNNING:
      return rank.mark() == v1::MARK_WAITING ? "waits"
             : rank.has_progress()           ? "training"
                                             : "running";
    case v1::RANK_STATE_DISCONNECTED:
      return "disconnected";
    case v1::RANK_STATE_ENDED:
      return "ended";
    case v1::RANK_STATE_FAILED:
      return "failed";
    case v1::RANK_STATE_LOST:
      return "lost";
    default:
      return "";
  }
}

JobState StateOf(const v1::JobStatus& job) {
  if (job.phase() == v1::JOB_PHASE_ENDED) {
    if (job.elsewhere() && !job.has_exit_code()) return {"ended", v1::MARK_ENDED};
    if (job.exit_code() == 0) return {"ended well", v1::MARK_ENDED};
    const std::string code = "exit code " + std::to_string(job.exit_code());
    const bool asked =
        job.stop_requested() || job.exit_code() == kInterrupted || job.exit_code() == kTerminated;
    if (asked) return {"stopped, " + code, v1::MARK_ENDED};
    return {"failed, " + code, v1::MARK_FAILED};
  }
  if (job.chief_gone()) return {"crashed: its autodist is gone", v1::MARK_FAILED};
  if (job.chief_silent()) return {"its autodist does not answer", v1::MARK_DISCONNECTED};
  if (job.elsewhere()) return {"on " + job.host(), v1::MARK_NONE};
  switch (job.phase()) {
    case v1::JOB_PHASE_LAUNCHING:
      return {"launching", v1::MARK_STARTING};
    case v1::JOB_PHASE_STOPPING:
      return {"stopping", v1::MARK_WARNING};
    case v1::JOB_PHASE_RESTARTING:
      return {"restarting", v1::MARK_DISCONNECTED};
    default:
      return {"running", v1::MARK_NONE};
  }
}

JobState StateOf(const v1::JobSnapshot& snapshot) {
  JobState state = StateOf(snapshot.job());
  const bool runs = state.mark == v1::MARK_NONE;
  if (!runs || snapshot.issues().empty()) return state;
  state.mark = MarkOf(snapshot.issues(0).kind());
  switch (state.mark) {
    case v1::MARK_STALLED:
      state.words = "stalled";
      break;
    case v1::MARK_FAILED:
      state.words += ", a rank failed";
      break;
    case v1::MARK_SLOW:
      state.words += ", slow";
      break;
    case v1::MARK_DISCONNECTED:
      state.words += ", a node is disconnected";
      break;
    default:
      break;
  }
  return state;
}

}  // namespace autodist::snapshot
