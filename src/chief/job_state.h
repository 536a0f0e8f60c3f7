// How far a running job is, and what has to happen next. Pure logic: told of every event, it
// never waits and never talks to anyone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::chief {

// What ended the job before all ranks had ended well. The first one wins.
struct Cause {
  enum class Kind { kRankFailed, kNodeLost, kInterrupted };
  Kind kind;
  uint32_t node_rank = 0;  // of kRankFailed and kNodeLost
  v1::RankExited exit;     // of kRankFailed
  Status status;           // of kNodeLost
  int signal = 0;          // of kInterrupted
};

class JobState {
 public:
  enum class Action {
    kNone,
    kStop,    // SIGTERM to all ranks, SIGKILL after the grace period
    kKill,    // SIGKILL to all ranks
    kGiveUp,  // wait no longer
  };

  explicit JobState(const v1::LaunchPlan& plan);

  // Each returns what to do because of it.
  Action RankExited(const v1::RankExited& exit);
  Action NodeLost(uint32_t node_rank, const Status& status);
  Action Interrupted(int signal);

  // No rank is left on any node that answers.
  bool AllEnded() const { return node_of_running_.empty(); }
  const std::optional<Cause>& cause() const { return cause_; }
  bool NodeIsLost(uint32_t node_rank) const { return lost_nodes_.contains(node_rank); }

  // Ranks that were stopped because of the cause, by what ended them.
  int ended_by_term() const { return ended_by_term_; }
  int ended_by_kill() const { return ended_by_kill_; }
  int ended_themselves() const { return ended_themselves_; }

  // Of `autodist run`, once the job is over.
  int ExitCode() const;

 private:
  Action Stop(Cause cause);

  std::map<uint32_t, uint32_t> node_of_running_;  // node rank of each rank that has not ended
  std::set<uint32_t> lost_nodes_;
  std::optional<Cause> cause_;
  bool kill_sent_ = false;
  int ended_by_term_ = 0;
  int ended_by_kill_ = 0;
  int ended_themselves_ = 0;
};

// The exit code that a shell would give: the program's own, or 128 + the signal.
int ExitCodeOf(const v1::RankExited& exit);

// Exit codes of `autodist` itself.
inline constexpr int kExitCannotLaunch = 125;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

}  // namespace autodist::chief
