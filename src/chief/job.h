// One job, from launch to the end of the last process.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/plan.pb.h"
#include "chief/attempt/job_options.h"
#include "chief/attempt_run.h"
#include "chief/job_parts.h"
#include "chief/job_runner.h"
#include "chief/job_signals.h"
#include "chief/loop/loop.h"
#include "chief/loop/signal_watcher.h"
#include "chief/suspension.h"
#include "control/job_requests.h"

namespace autodist::chief {

// The job's thread never waits for a terminal or a disk while nodes hold leases.
class Job {
 public:
  // At most one Job exists in a process, and no other thread may take its signals (see
  // SignalWatcher::Block). `plan` must outlive it. `loop` replaces the loop, for another clock.
  Job(const v1::LaunchPlan& plan, JobOptions options, std::unique_ptr<Loop> loop = nullptr);
  ~Job();

  // Runs the plan; returns the exit code of `autodist run`. Blocks until no node that answers runs
  // anything of the job. Writes messages to the log, output of the ranks to the terminal.
  int Run();

  // Acts as if this process had received the signal; `by`: who asks for it by a command or a key;
  // "": the process received it. Thread-safe.
  void Signal(int signal, const std::string& by = "");

  // Returns the handlers of requests from other processes, valid while this object exists.
  // Thread-safe.
  control::JobRequests Requests();

  // Returns the last published status.
  const v1::JobStatus& status() const { return parts_.recorder.published(); }

  // After Run: "ended", "failed", "stopped" or "not started".
  const std::string& outcome() const { return outcome_; }
  // After Run: whether this process can only end by _exit, because its terminal accepts no output.
  bool blocked() const { return finishing_.blocked; }

 private:
  // Runs the loop until the job is over.
  void RunLoop();
  // Ends the job in order after an exception. Returns whether the loop can continue. `advancing`:
  // thrown while the job was brought forward.
  bool EndAfter(const std::exception& thrown, bool advancing);
  void CollectStacks(const v1::GetStacksRequest& request, StacksAnswer answer);
  void Diagnose(Diagnoser::Answer answer);
  void Fetch(const v1::FetchRequest& request, const std::stop_token& stop,
             const FetchAnswer& answer);
  // `refusal`: "" if the job was started.
  int Finish(int exit_code, const std::string& refusal, Loop::Time began);

  struct Finishing {
    std::atomic<Loop::Time> since = Loop::Time{};  // zero: not yet
    std::atomic<int> exit_code = 0;
    bool blocked = false;  // by the terminal
  } finishing_;
  JobParts parts_;
  Suspension suspension_;
  AttemptRun run_;
  JobRunner runner_;
  JobSignals signals_;
  std::string outcome_ = "not started";
  std::string internal_error_;  // the first one; "": none
  std::optional<SignalWatcher> watcher_;
};

}  // namespace autodist::chief
