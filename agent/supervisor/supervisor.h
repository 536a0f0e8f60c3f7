// Owns every process of the job on this node: starts the ranks, reports their ends, and ends them.
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
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/supervisor/rank_streams.h"
#include "autodist/status.h"
#include "autodist/v1/session.pb.h"
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
  pid_t pid = 0;               // 0: not started
  int wait_status = 0;         // from waitpid
  int64_t time_ns = 0;         // of detection, since 1970
  Status start_failure;        // if pid is 0
  int signalled = 0;           // the last signal that it was sent here, but for SIGTSTP and SIGCONT
  bool first_failure = false;  // of these ranks, which were not being stopped
};

// After this time, processes that ranks have left are reported as awaited.
inline constexpr std::chrono::seconds kLeftAwaited{2};

// Events, on the supervisor's thread.
struct SupervisorEvents {
  // A rank has been started: the non-blocking read ends; a terminal has only `out`.
  std::function<void(uint32_t rank, base::UniqueFd out, base::UniqueFd err)> pipes;
  std::function<void(uint32_t rank, pid_t pid, int64_t time_ns)> started;  // since 1970
  std::function<void(const RankExit& exit)> exited;
  std::function<void()> ended;  // after End, when no process is left
  // A rank with an input is about to start: the non-blocking write end.
  std::function<void(uint32_t rank, base::UniqueFd in)> input = {};
  // During an End, when no rank runs any more: what ranks have left, once for each stage; that it
  // is signalled, only after a success.
  std::function<void(v1::LeftStage stage, const std::vector<pid_t>& processes)> left = {};
};

// Thread-safe; no call blocks. SIGCHLD must be blocked in every thread of the process, and the
// process must adopt orphans (process::AdoptOrphans).
class Supervisor {
 public:
  static Result<std::unique_ptr<Supervisor>> Create(SupervisorEvents events);
  // Kills the remaining processes.
  ~Supervisor();

  // Call once, or again after `ended`. `stop_signal` asks these ranks to end. Ranks that may not
  // start are reported as ended.
  void Start(std::vector<RankCommand> ranks, int stop_signal);

  // Sends the signal to the process group of every running rank.
  void Signal(int signal);
  // Whether the last SIGTSTP or SIGCONT for the ranks was SIGTSTP; set before they are sent it.
  bool suspended() const { return suspended_; }

  // Sends the stop signal once to the process group of every running rank, and SIGKILL after
  // `grace`. Another call can only shorten the time until SIGKILL. Until End has completed, no rank
  // starts. Without ranks, or once they have ended, it does nothing: later ranks are not concerned.
  void Stop(std::chrono::milliseconds grace);
  // The same when the scheduler ends the job: later ranks do not start either. `signalled`: the
  // scheduler has sent the signal to the ranks. It may have missed those that have just started,
  // which are sent it here.
  void StopForGood(std::chrono::milliseconds grace, bool signalled);

  // Ends all descendants of this process, in any session: sends the stop signal to those that have
  // not had it, and SIGKILL after `grace` or after that of an earlier Stop; then calls `ended`.
  void End(std::chrono::milliseconds grace);

  // Blocks until the last End has completed.
  void WaitUntilEnded();

  // Returns the running ranks with their processes.
  std::map<uint32_t, pid_t> RunningRanks() const;

  // A child that is not a rank.
  struct Running {
    uint64_t id = 0;
    std::future<Result<int>> ended;  // its wait status
  };
  // Runs a child in a separate process group. The descriptors of the request must stay open until
  // it has ended, except `its`, which is closed here after the start.
  Running Run(process::SpawnRequest request, base::UniqueFd its = {});
  void KillRun(uint64_t id);  // sends SIGKILL to its process group, unless it has ended

 private:
  using Clock = base::Deadline::Clock;

  struct RunningRank {
    uint32_t rank = 0;
    Clock::time_point started;
  };
  struct OtherChild {
    uint64_t id = 0;
    std::promise<Result<int>> ended;
  };

  // The progress of ending the ranks; after the first End, of ending all processes.
  struct Ending {
    bool stopped = false;  // the stop signal has been sent to the ranks
    bool killing = false;  // the grace period is over
    base::Deadline kill_at = base::Deadline::Never();
    int ends = 0;                                     // calls of End in progress
    std::set<pid_t> signalled_groups;                 // have been sent the stop signal by Stop
    std::set<pid_t> signalled;                        // other processes that have
    bool only_orphans = false;                        // only these are sent it from now on
    v1::LeftStage left = v1::LEFT_STAGE_UNSPECIFIED;  // the last one
    std::optional<base::Deadline> left_until;         // the end of the stage
    base::Deadline next_look = base::Deadline::Never();
  };

  explicit Supervisor(SupervisorEvents events);
  Status Open();
  void Loop();
  void Await();
  bool MayStart() const;  // ranks
  void StartRank(RankCommand& command);
  Result<pid_t> SpawnRank(RankCommand& command);
  void NotStarted(uint32_t rank, const Status& why);
  bool Reap();  // returns whether some children still run
  bool HasEnded() const { return ranks_.empty() && ending_.ends == 0; }
  // Those that have started before have been sent the signal by another process.
  void StopRanks(std::chrono::milliseconds grace, Clock::time_point signalled_before);
  void SignalRanks(int signal);
  void SignalDescendants();
  bool LeftMayEnd();
  void ContinueEnd();
  void KillAfter(std::chrono::milliseconds grace);

  SupervisorEvents events_;
  base::UniqueFd children_;  // signalfd: SIGCHLD
  base::TaskQueue tasks_;
  std::atomic<uint64_t> next_run_ = 1;
  std::atomic<bool> suspended_ = false;

  mutable std::mutex mutex_;
  std::condition_variable ended_changed_;
  int ends_under_way_ = 0;             // guarded by mutex_
  std::map<uint32_t, pid_t> running_;  // guarded by mutex_

  // Used only by the thread:
  std::map<pid_t, RunningRank> ranks_;
  std::map<pid_t, OtherChild> runs_;
  int stop_signal_;
  int sent_ = 0;         // as RankExit::signalled
  bool failed_ = false;  // a rank since the last Start, maybe of another node
  Ending ending_;
  bool refuses_ = false;  // to start ranks, for good
  bool closing_ = false;  // the thread must end

  std::jthread thread_;  // last: starts when the members above exist
};

}  // namespace autodist::agent
