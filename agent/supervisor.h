// Owns every process of the job on this node: starts the ranks, reads what they write, tells how
// they end, and ends them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "autodist/status.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/task_queue.h"
#include "process/spawn.h"

namespace autodist::agent {

enum class Stream { kStdout, kStderr };

struct RankCommand {
  uint32_t rank;
  process::SpawnRequest spawn;  // without descriptors
};

struct RankExit {
  uint32_t rank = 0;
  pid_t pid = 0;         // 0: could not be started
  int wait_status = 0;   // as waitpid gives it
  Status start_failure;  // where pid is 0
};

// What happens, told on the supervisor's thread. What a rank has written comes before its exit; its
// descendants may write on.
struct SupervisorEvents {
  std::function<void(uint32_t rank, pid_t pid)> started;
  std::function<void(uint32_t rank, Stream stream, uint64_t offset, std::string data)> output;
  std::function<void(const RankExit& exit)> exited;
  std::function<void()> ended;  // after Shutdown, once nothing is left
};

// Thread-safe; no call blocks. SIGCHLD must be blocked in every thread of the process, and the
// process must adopt orphans (process::AdoptOrphans).
class Supervisor {
 public:
  static Result<std::unique_ptr<Supervisor>> Create(SupervisorEvents events);
  // Kills what is left.
  ~Supervisor();

  void Start(std::vector<RankCommand> ranks);

  // SIGTERM once to the process group of every rank that still runs, SIGKILL after `grace`.
  // Called again, it can only shorten the time until SIGKILL.
  void Stop(std::chrono::milliseconds grace);

  // Ends every process that descends from us, of whatever session: SIGTERM to those that have not
  // had it, SIGKILL after `grace` or the end of an earlier Stop's; then `ended`.
  void Shutdown(std::chrono::milliseconds grace);

  // The reader has dealt with all bytes before `offset`. A rank's pipe is left unread, so that
  // the rank waits in write(2), while more than kWindow bytes are not acknowledged.
  void Acknowledge(uint32_t rank, Stream stream, uint64_t offset);

  // A child that is no rank.
  struct Running {
    uint64_t id = 0;
    std::future<Result<int>> ended;  // its wait status
  };
  // Runs one, in a process group of its own. The descriptors of the request must stay open until
  // it has ended.
  Running Run(process::SpawnRequest request);
  void KillRun(uint64_t id);  // SIGKILL to its process group, unless it has ended

  static constexpr uint64_t kWindow = 256 * 1024;  // bytes per rank and stream

 private:
  struct Output {
    uint32_t rank = 0;
    Stream stream = Stream::kStdout;
    base::UniqueFd fd;
    uint64_t read = 0;
    uint64_t acknowledged = 0;
    bool watched = false;  // in the epoll set
  };
  struct Rank {
    pid_t pid = 0;  // 0 once it has ended
    Output out;
    Output err;
  };

  struct OtherChild {
    uint64_t id = 0;
    std::promise<Result<int>> ended;
  };

  explicit Supervisor(SupervisorEvents events) : events_(std::move(events)) {}
  Status Open();
  void Loop();
  void StartRank(RankCommand& command);
  Status SpawnRank(RankCommand& command, Rank& rank);
  void ReadOutput(Output& output, bool to_the_end);
  void WatchOutput(Output& output);
  bool Reap();  // whether there are children that have not ended
  void RankEnded(uint32_t number, int wait_status);
  void SignalRanks(int signal);
  void TerminateRest();
  void ContinueShutdown();

  SupervisorEvents events_;
  base::UniqueFd epoll_;
  base::UniqueFd children_;  // signalfd: SIGCHLD
  base::TaskQueue tasks_;
  std::atomic<uint64_t> next_run_ = 1;

  // Only touched by the thread.
  std::map<uint32_t, Rank> ranks_;
  std::map<pid_t, uint32_t> rank_of_;
  std::map<pid_t, OtherChild> runs_;
  bool terminated_ = false;
  bool killing_ = false;  // the grace period is over
  std::set<pid_t> terminated_groups_;
  bool shutting_down_ = false;
  bool finished_ = false;
  base::Deadline kill_at_ = base::Deadline::Never();
  base::Deadline sweep_at_ = base::Deadline::Never();

  std::thread thread_;  // last: starts when the rest is there
};

}  // namespace autodist::agent
