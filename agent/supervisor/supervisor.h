// Owns every process of the job on this node: starts the ranks, tells how they end, and ends them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/supervisor/rank_streams.h"
#include "autodist/status.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/task_queue.h"
#include "process/spawn.h"

namespace autodist::agent {

struct RankCommand {
  uint32_t rank = 0;
  process::SpawnRequest spawn;  // without descriptors
  RankStdin input = RankStdin::kNull;
};

struct RankExit {
  uint32_t rank = 0;
  pid_t pid = 0;         // 0: could not be started
  int wait_status = 0;   // as waitpid gives it
  int64_t time_ns = 0;   // when it was noticed, since 1970
  Status start_failure;  // where pid is 0
};

// What happens, told on the supervisor's thread.
struct SupervisorEvents {
  // Of a rank that has been started: the read ends, not blocking; of a terminal there is but `out`.
  std::function<void(uint32_t rank, base::UniqueFd out, base::UniqueFd err)> pipes;
  std::function<void(uint32_t rank, pid_t pid)> started;
  std::function<void(const RankExit& exit)> exited;
  std::function<void()> ended;  // after End, once nothing is left
  // Of a rank that is about to start, where it has an input: where to write it, not blocking.
  std::function<void(uint32_t rank, base::UniqueFd in)> input = {};
};

// Thread-safe; no call blocks. SIGCHLD must be blocked in every thread of the process, and the
// process must adopt orphans (process::AdoptOrphans).
class Supervisor {
 public:
  static Result<std::unique_ptr<Supervisor>> Create(SupervisorEvents events);
  // Kills what is left.
  ~Supervisor();

  // Once, or again after `ended`. `stop_signal` is the one that asks these ranks to end.
  void Start(std::vector<RankCommand> ranks, int stop_signal);

  // To the process group of every rank that still runs.
  void Signal(int signal);

  // The stop signal once to the process group of every rank that still runs, SIGKILL after `grace`.
  // Called again, it can only shorten the time until SIGKILL.
  void Stop(std::chrono::milliseconds grace);
  // The same where somebody else has sent every rank the signal.
  void OnSignalled(std::chrono::milliseconds grace);

  // Ends every process that descends from us, of whatever session: the stop signal to those that
  // have not had it, SIGKILL after `grace` or the end of an earlier Stop's; then `ended`.
  void End(std::chrono::milliseconds grace);

  // Blocks until the End before it has come to its end.
  void WaitUntilEnded();

  // The ranks that run, with their processes.
  std::map<uint32_t, pid_t> RunningRanks() const;

  // A child that is no rank.
  struct Running {
    uint64_t id = 0;
    std::future<Result<int>> ended;  // its wait status
  };
  // Runs one, in a process group of its own. The descriptors of the request must stay open until
  // it has ended, but for `its`, which is closed here once it has been started.
  Running Run(process::SpawnRequest request, base::UniqueFd its = {});
  void KillRun(uint64_t id);  // SIGKILL to its process group, unless it has ended

 private:
  struct OtherChild {
    uint64_t id = 0;
    std::promise<Result<int>> ended;
  };

  // How far the ranks' end is; all processes' from the first End on.
  struct Ending {
    bool stopped = false;  // the stop signal has been sent to the ranks
    bool killing = false;  // the grace period is over
    base::Deadline kill_at = base::Deadline::Never();
    int ends = 0;                      // calls of End that are being carried out
    std::set<pid_t> signalled_groups;  // have had the stop signal, by Stop
    std::set<pid_t> signalled;         // others that have
    bool only_orphans = false;         // are to get it from now on
    base::Deadline next_look = base::Deadline::Never();
  };

  explicit Supervisor(SupervisorEvents events);
  Status Open();
  void Loop();
  void StartRank(RankCommand& command);
  Result<pid_t> SpawnRank(RankCommand& command);
  void NotStarted(uint32_t rank, const Status& why);
  bool Reap();  // whether there are children that have not ended
  void SignalRanks(int signal);
  void SignalDescendants();
  void ContinueEnd();
  void KillAfter(std::chrono::milliseconds grace);

  SupervisorEvents events_;
  base::UniqueFd children_;  // signalfd: SIGCHLD
  base::TaskQueue tasks_;
  std::atomic<uint64_t> next_run_ = 1;

  mutable std::mutex mutex_;
  std::condition_variable ended_changed_;
  int ends_under_way_ = 0;             // guarded by mutex_
  std::map<uint32_t, pid_t> running_;  // guarded by mutex_

  // Only touched by the thread.
  std::map<pid_t, uint32_t> rank_of_;
  std::map<pid_t, OtherChild> runs_;
  int stop_signal_;
  Ending ending_;
  bool closing_ = false;  // the thread is to end

  std::jthread thread_;  // last: starts when the rest is there
};

}  // namespace autodist::agent
