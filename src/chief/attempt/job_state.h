// How far an attempt at a job is, and what has to happen next. Pure logic: told of every event, it
// never waits and never talks to anyone.
#pragma once

#include <signal.h>

#include <chrono>
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

// What ended the attempt before all ranks had ended well. The first one wins.
struct Cause {
  enum class Kind { kRankFailed, kNodeLost, kInterrupted, kTimedOut, kHung };
  Kind kind;
  uint32_t node_rank = 0;  // of kRankFailed and kNodeLost
  v1::RankExited exit;     // of kRankFailed; its time by our clock
  Status status;           // of kNodeLost
  int signal = 0;          // of kInterrupted
};

class JobState {
 public:
  enum class Action {
    kNone,
    kStop,    // the stop signal to all ranks, SIGKILL after the grace period
    kKill,    // SIGKILL to all ranks
    kGiveUp,  // wait no longer
  };

  explicit JobState(const v1::LaunchPlan& plan, int stop_signal = SIGTERM,
                    std::chrono::milliseconds grace = std::chrono::seconds(30));

  void RankStarted() { ran_ = true; }

  // Each returns what to do because of it. The time of an exit is by our clock: where a rank failed
  // because of another, the news of it may come first.
  Action RankExited(const v1::RankExited& exit);
  Action RankAborted(const v1::RankAborted& aborted);  // it will end, but has not yet
  Action NodeLost(uint32_t node_rank, const Status& status);
  Action Interrupted(int signal);
  Action TimedOut();
  Action Hung();

  // No rank is left on any node that answers; what only serves them may be.
  bool AllEnded() const { return node_of_running_.empty(); }
  bool ran() const { return ran_; }
  // With what serves the ranks, as long as there are ranks.
  uint32_t RunningOn(uint32_t node_rank) const;
  std::vector<uint32_t> RunningByNode() const;  // ranks alone
  uint32_t running() const { return static_cast<uint32_t>(node_of_running_.size()); }
  const std::optional<Cause>& cause() const { return cause_; }
  bool NodeIsLost(uint32_t node_rank) const { return lost_nodes_.contains(node_rank); }

  int stop_signal() const { return stop_signal_; }

  // Ranks that were stopped because of the cause, by what ended them.
  int ended_by_stop_signal() const { return ended_by_stop_signal_; }
  int ended_by_kill() const { return ended_by_kill_; }
  int ended_themselves() const { return ended_themselves_; }

  // Of `autodist run`, once the job is over.
  int ExitCode() const;

 private:
  Action Stop(Cause cause);

  bool CameFirst(const v1::RankExited& exit) const;
  void Replace(const v1::RankExited& exit, uint32_t node_rank);

  const int stop_signal_;
  const std::chrono::milliseconds grace_;
  const size_t nodes_;
  std::map<uint32_t, uint32_t> node_of_running_;  // node rank of each rank that has not ended
  std::map<uint32_t, uint32_t> node_of_serving_;  // the same of auxiliary processes
  std::set<uint32_t> lost_nodes_;
  std::optional<Cause> cause_;
  bool ran_ = false;
  bool hurried_ = false;  // KILL has been asked for
  int ended_by_stop_signal_ = 0;
  int ended_by_kill_ = 0;
  int ended_themselves_ = 0;
};

// The exit code that a shell would give: the program's own, or 128 + the signal; of an abort what
// _exit would make of its status, but never 0.
int ExitCodeOf(const v1::RankExited& exit);

// An abort, as what counts of the rank's end.
v1::RankExited AsExit(const v1::RankAborted& aborted);

// Exit codes of `autodist` itself.
inline constexpr int kExitTimedOut = 124;  // as timeout(1) has it
inline constexpr int kExitCannotLaunch = 125;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

}  // namespace autodist::chief
