// Processes that wait for the next attempt, in which each becomes a rank (--warm).
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/supervisor/rank_streams.h"
#include "autodist/status.h"
#include "base/fd.h"
#include "process/spawn.h"

namespace autodist::agent {

// Used on one thread, on which the processes are started.
class WarmProcesses {
 public:
  using Taken = std::pair<pid_t, RankStreams::Ends>;  // the process, and our ends of the streams

  // Starts a Python that can become this rank, by the program `run_python.py`, which imports
  // `modules`. It does not have the variables that differ between attempts.
  Status Add(process::SpawnRequest rank, const std::string& run_python, const std::string& modules);
  // Makes one that waits the rank. kNotFound: none was started for this command. After another
  // error, the rank must be started in the usual way.
  Result<Taken> Take(const process::SpawnRequest& rank);
  void Reaped(pid_t pid) { pids_.erase(pid); }
  void KillAll();  // each must still be reaped

  const std::set<pid_t>& pids() const { return pids_; }

 private:
  struct Waiting {
    process::SpawnRequest rank;
    pid_t pid = 0;
    RankStreams::Ends ours;
    base::UniqueFd gate;  // closing it without writing ends the process
  };

  std::vector<Waiting> waiting_;
  std::set<pid_t> pids_;  // those that have not been reaped
};

}  // namespace autodist::agent
