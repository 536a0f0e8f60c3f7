// Processes that wait for the next attempt, in which each becomes a rank (--warm).
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/supervisor/rank_streams.h"
#include "autodist/status.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "process/spawn.h"

namespace autodist::agent {

// Used on one thread, on which the processes are started. No call waits for one of them.
class WarmProcesses {
 public:
  using Taken = std::pair<pid_t, RankStreams::Ends>;  // the process, and our ends of the streams

  // Starts a Python that can become this rank, by the program `run_python.py`, which imports
  // `modules`. It does not have the variables that differ between attempts.
  Status Add(process::SpawnRequest rank, const std::string& run_python, const std::string& modules);
  // Asks the one that waits for this rank to check whether a new process would differ. kNotFound:
  // none was started. After another error, the rank must be started in the usual way.
  Result<pid_t> Ask(const process::SpawnRequest& rank);
  // Makes the one that was asked the rank, unless it has refused; nullopt while it checks.
  std::optional<Result<Taken>> Take(pid_t asked);
  // Call it when one has written: kills those that cannot become ranks.
  void ReadAnswers();
  void KillUnasked();
  void KillAll();
  // Returns whether a killed process, or one that it had started, still exists; false after a
  // while.
  bool AnyDying();
  void Reaped(pid_t pid) { pids_.erase(pid); }

  void AddTo(std::vector<pollfd>& fds) const;                            // what they write to
  base::Deadline limit() const { return std::min(check_by_, end_by_); }  // of Take and AnyDying
  const std::set<pid_t>& pids() const { return pids_; }  // neither reaped nor killed

 private:
  enum class Phase { kImports, kWaits, kChecks, kFits, kRefused };
  struct Waiting {
    process::SpawnRequest rank;
    pid_t pid = 0;
    RankStreams::Ends ours;
    base::UniqueFd gate;  // closing it ends the process
    Phase phase = Phase::kImports;
    Status refusal = {};
  };

  void ReadAnswer(Waiting& one);
  void Refuse(Waiting& one, const std::string& why);
  void Kill(pid_t pid);

  std::vector<Waiting> waiting_;
  std::set<pid_t> pids_;
  std::set<pid_t> dying_;
  base::Deadline check_by_ = base::Deadline::Never();  // all that were asked
  base::Deadline end_by_ = base::Deadline::Never();    // all that were killed
};

}  // namespace autodist::agent
