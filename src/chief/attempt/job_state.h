// Tracks the state of an attempt, and what has to happen next. Pure logic: it receives every event,
// never blocks and never communicates.
#pragma once

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"
#include "chief/attempt/cause.h"

namespace autodist::chief {

// A rank that ended with 0 before any failure.
struct EndedWell {
  uint32_t rank = 0;
  uint32_t node_rank = 0;
  int64_t time_ns = 0;  // since 1970, by the chief's clock
};

// A rank that failed by itself after the cause, before it was stopped.
struct FailedToo {
  v1::RankExited exit;  // time by the chief's clock
  uint32_t node_rank = 0;
};

// How a rank ended once the cause was known.
enum class LaterEnd {
  kByStopSignal,
  kAfterStopSignal,  // by itself, after it had been sent the signal
  kByKill,
  kByPassedOn,  // by a signal that autodist passed on, before it was stopped
  kBefore,      // before it was stopped, in another way
  kLost,        // unknown: it ran on a node when this was lost
};

class JobState {
 public:
  explicit JobState(const v1::LaunchPlan& plan, int stop_signal = SIGTERM,
                    std::chrono::milliseconds grace = std::chrono::seconds(30));

  void RankStarted() { ran_ = true; }

  // Each returns whether the event is the first cause, because of which the remaining ranks have to
  // be stopped. The times of exits are by the chief's clock: if a rank failed because of another,
  // its event may arrive first.
  bool RankExited(const v1::RankExited& exit);
  bool RankAborted(const v1::RankAborted& aborted);  // it will end, but has not yet
  // `last_contact_ns`: as in Cause.
  bool NodeLost(uint32_t node_rank, const Status& status, int64_t last_contact_ns = 0);
  // The node will be lost, and its ranks end.
  bool NodeEvicted(uint32_t node_rank, const Status& status);
  // Ends the job. Replaces an eviction as the cause, because a scheduler may evict a node before it
  // sends the signal.
  bool Interrupted(int signal, const std::string& by = "");
  bool TimedOut();
  bool Hung();
  // SIGKILL was sent to all ranks: ends by SIGKILL are consequences.
  void Killed() { killed_ = true; }

  // No rank is left on any node that answers; auxiliary processes may be.
  bool AllEnded() const { return node_of_running_.empty(); }
  bool ran() const { return ran_; }
  // Includes auxiliary processes, as long as there are ranks.
  uint32_t RunningOn(uint32_t node_rank) const;
  // Ranks only, by node rank.
  const std::vector<uint32_t>& running_by_node() const { return running_on_; }
  // Returns whether the rank or auxiliary process has not ended.
  bool Runs(uint32_t rank) const {
    return node_of_running_.contains(rank) || node_of_serving_.contains(rank);
  }
  uint32_t running() const { return static_cast<uint32_t>(node_of_running_.size()); }
  const std::optional<Cause>& cause() const { return cause_; }
  // The failure that was the cause until one was reported that had come before it.
  const std::optional<Cause>& noticed_first() const { return noticed_first_; }
  // Lost nodes, a time limit and signals after the cause, in order: they may prevent a restart.
  const std::vector<Cause>& later() const { return later_; }

  const std::vector<EndedWell>& ended_well() const { return ended_well_; }
  // The first one after the cause.
  const std::optional<FailedToo>& failed_too() const { return failed_too_; }

  int stop_signal() const { return stop_signal_; }

  // Ranks that ended once the cause was known. It may include the cause's own rank.
  const std::map<uint32_t, LaterEnd>& later_ends() const { return later_ends_; }

  // Returns the exit code of `autodist run`, once the job is over.
  int ExitCode() const;

 private:
  bool Stop(Cause cause);

  std::chrono::milliseconds NoticedWithin(const v1::RankExited& from_outside) const;
  bool WasEndedByAgent(uint32_t node_rank) const;
  bool CameFirst(const v1::RankExited& exit) const;
  void EndedBefore(const v1::RankExited& exit, uint32_t node_rank);
  void Replace(const v1::RankExited& exit, uint32_t node_rank,
               std::optional<v1::RankAborted> abort);

  const int stop_signal_;
  const std::chrono::milliseconds grace_;
  std::map<uint32_t, uint32_t> node_of_running_;  // node rank of each rank that has not ended
  std::map<uint32_t, uint32_t> node_of_serving_;  // the same for auxiliary processes
  // By node rank: the numbers of running ranks and auxiliary processes, and all planned ones.
  std::vector<uint32_t> running_on_;
  std::vector<uint32_t> serving_on_;
  std::vector<std::vector<uint32_t>> planned_on_;
  std::optional<Cause> cause_;
  std::optional<Cause> noticed_first_;
  std::vector<Cause> later_;
  std::vector<EndedWell> ended_well_;
  std::optional<FailedToo> failed_too_;
  bool ran_ = false;
  bool killed_ = false;
  bool evicted_ = false;  // the cause is an eviction
  std::map<uint32_t, LaterEnd> later_ends_;
};

}  // namespace autodist::chief
