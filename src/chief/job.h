// One job, from launch to the end of its last process.
#pragma once

#include <atomic>
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

// Its thread never waits for a terminal or a disk while there are nodes: they have leases.
class Job {
 public:
  // Only one Job at a time in a process; no other thread may take its signals, as after
  // SignalWatcher::Block. `plan` must outlive it. `loop`: one with another clock.
  Job(const v1::LaunchPlan& plan, JobOptions options, std::unique_ptr<Loop> loop = nullptr);
  ~Job();

  // Runs the plan; returns the exit code of `autodist run`. Blocks until nothing of the job is
  // left on any node that answers. Messages go to the log, the ranks' output to the terminal.
  int Run();

  // As if this process had received it; `by`: what sent it, if it is known. Thread-safe.
  void Signal(int signal, const std::string& by = "");

  // What others may ask of it as long as it is there; `by`: what sends its signals. Thread-safe.
  control::JobRequests Requests(const std::string& by);

  // As it was told last.
  const v1::JobStatus& status() const { return parts_.recorder.published(); }

  // After Run: "ended", "failed", "stopped" or "not started".
  const std::string& outcome() const { return outcome_; }
  // After Run: whether this process can only end by _exit, as its terminal takes nothing.
  bool blocked() const { return finishing_.blocked; }

 private:
  void CollectStacks(const v1::GetStacksRequest& request, StacksAnswer answer);
  void Fetch(const v1::FetchRequest& request, const std::stop_token& stop,
             const FetchAnswer& answer);
  int Finish(int exit_code, const std::string& refusal, Loop::Time began);  // "": it was started

  struct Finishing {
    std::atomic<Loop::Time> since = Loop::Time{};  // the beginning of time: not yet
    std::atomic<int> exit_code = 0;
    bool blocked = false;  // by the terminal
  } finishing_;
  JobParts parts_;
  Suspension suspension_;
  AttemptRun run_;
  JobRunner runner_;
  JobSignals signals_;
  std::string outcome_ = "not started";
  std::optional<SignalWatcher> watcher_;
};

}  // namespace autodist::chief
