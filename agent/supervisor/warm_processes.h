// Processes that wait for the next attempt, in which each becomes a rank.
#pragma once

#include <sys/types.h>

#include <set>
#include <vector>

#include "agent/supervisor/rank_streams.h"
#include "autodist/status.h"
#include "base/fd.h"
#include "process/spawn.h"

namespace autodist::agent {

struct RankCommand;

// Used on one thread, on which the processes are started.
class WarmProcesses {
 public:
  // What a process becomes a rank with. Each has the variable kVariable until then: the number of a
  // descriptor, to which it writes a byte when it waits, and from which it then reads the rank's
  // environment as "NAME=value\0...", to the end. At an end without data it exits.
  static constexpr char kVariable[] = "AUTODIST_WARM_FD";
  struct Taken {
    pid_t pid = 0;
    RankStreams::Ends ours;
  };

  // Starts one that can become this rank, or another with the same command.
  Status Add(RankCommand command);
  // Makes a process that waits the rank. kNotFound: none was started with this command. After
  // another error, such as kUnavailable because it does not wait yet, the process is killed.
  Result<Taken> Take(const RankCommand& command);
  // The process has ended, and been reaped.
  void Gone(pid_t pid);
  // Kills all; each must still be reaped.
  void KillAll();

  const std::set<pid_t>& pids() const { return pids_; }

 private:
  struct Waiting {
    process::SpawnRequest spawn;
    pid_t pid = 0;
    RankStreams::Ends ours;
    base::UniqueFd gate;  // closing it without writing ends the process
  };

  std::vector<Waiting> waiting_;
  std::set<pid_t> pids_;  // of them
};

}  // namespace autodist::agent
