// How far an attempt at a job is, and what has to happen next. Pure logic: told of every event, it
// never waits and never talks to anyone.
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

// A rank that has ended with 0 before anything went wrong.
struct EndedWell {
  uint32_t rank = 0;
  uint32_t node_rank = 0;
  int64_t time_ns = 0;  // since 1970, by our clock
};

class JobState {
 public:
  explicit JobState(const v1::LaunchPlan& plan, int stop_signal = SIGTERM,
                    std::chrono::milliseconds grace = std::chrono::seconds(30));

  void RankStarted() { ran_ = true; }

  // Each returns whether it is the first cause, because of which the ranks that are left have to be
  // stopped. The time of an exit is by our clock: where a rank failed because of another, the news
  // of it may come first.
  bool RankExited(const v1::RankExited& exit);
  bool RankAborted(const v1::RankAborted& aborted);  // it will end, but has not yet
  bool NodeLost(uint32_t node_rank, const Status& status);
  // It will be lost, and its ranks end.
  bool NodeEvicted(uint32_t node_rank, const Status& status);
  // Who takes a node away and then has us end, ends the job.
  bool Interrupted(int signal, const std::string& by = "");
  bool TimedOut();
  bool Hung();
  // SIGKILL has been sent to all ranks: such ends are consequences.
  void Killed() { killed_ = true; }

  // No rank is left on any node that answers; what only serves them may be.
  bool AllEnded() const { return node_of_running_.empty(); }
  bool ran() const { return ran_; }
  // With what serves the ranks, as long as there are ranks.
  uint32_t RunningOn(uint32_t node_rank) const;
  // Ranks alone, by node rank.
  const std::vector<uint32_t>& running_by_node() const { return running_on_; }
  // Whether it has not ended: a rank, or what serves the ranks.
  bool Runs(uint32_t rank) const {
    return node_of_running_.contains(rank) || node_of_serving_.contains(rank);
  }
  uint32_t running() const { return static_cast<uint32_t>(node_of_running_.size()); }
  const std::optional<Cause>& cause() const { return cause_; }

  const std::vector<EndedWell>& ended_well() const { return ended_well_; }

  int stop_signal() const { return stop_signal_; }

  // Ranks that were stopped because of the cause, by what ended them.
  int ended_by_stop_signal() const { return ended_by_stop_signal_; }
  int ended_by_kill() const { return ended_by_kill_; }
  int ended_themselves() const { return ended_themselves_; }

  // Of `autodist run`, once the job is over.
  int ExitCode() const;

 private:
  bool Stop(Cause cause);

  std::chrono::milliseconds NoticedWithin(const v1::RankExited& from_outside) const;
  bool CameFirst(const v1::RankExited& exit) const;
  void Replace(const v1::RankExited& exit, uint32_t node_rank,
               std::optional<v1::RankAborted> abort);

  const int stop_signal_;
  const std::chrono::milliseconds grace_;
  std::map<uint32_t, uint32_t> node_of_running_;  // node rank of each rank that has not ended
  std::map<uint32_t, uint32_t> node_of_serving_;  // the same of auxiliary processes
  // By node rank: how many of each there are, and which there were.
  std::vector<uint32_t> running_on_;
  std::vector<uint32_t> serving_on_;
  std::vector<std::vector<uint32_t>> planned_on_;
  std::optional<Cause> cause_;
  std::vector<EndedWell> ended_well_;
  bool ran_ = false;
  bool killed_ = false;
  bool taken_away_ = false;  // a node is, which is the cause
  int ended_by_stop_signal_ = 0;
  int ended_by_kill_ = 0;
  int ended_themselves_ = 0;
};

}  // namespace autodist::chief
