// The parts of a job, except for those that run it (job_runner.h) and handle events of nodes
// (attempt_run.h).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "autodist/v1/plan.pb.h"
#include "chief/attempt/job_options.h"
#include "chief/fetch/job_fetch.h"
#include "chief/fleet/fleet.h"
#include "chief/hang/diagnoser.h"
#include "chief/hang/hang_response.h"
#include "chief/hang/stack_collector.h"
#include "chief/input/own_terminal.h"
#include "chief/input/rank_input.h"
#include "chief/loop/loop.h"
#include "chief/output/console.h"
#include "chief/output/output_router.h"
#include "chief/policy/stop_policy.h"
#include "chief/snapshot/job_history.h"
#include "chief/snapshot/job_status_recorder.h"
#include "chief/snapshot/snapshot_builder.h"

namespace autodist::chief {

// Members in order of construction. Used on the loop's thread, except for thread-safe members.
struct JobParts {
  // Acts as if this process had received the signal; `by`: the sender. Thread-safe.
  using Signal = std::function<void(int signal, const std::string& by)>;

  // `plan` and `listener` must outlive it; `listener` may be constructed later. `its_loop`: null:
  // creates one.
  JobParts(const v1::LaunchPlan& its_plan, JobOptions its_options, std::unique_ptr<Loop> its_loop,
           FleetListener& listener, const Signal& signal);

  const std::string& AddressOf(uint32_t node) const {
    return plan.nodes(static_cast<int>(node)).address();
  }

  const v1::LaunchPlan& plan;
  const JobOptions options;
  const std::unique_ptr<Loop> loop;
  StopPolicy stop;
  Console console;
  OutputRouter output;
  Fleet nodes;
  JobStatusRecorder recorder;
  SnapshotBuilder snapshot;
  JobHistory history;
  StackCollector stacks;
  HangResponse hang;
  Diagnoser diagnoser;
  const std::shared_ptr<OwnTerminal> own_terminal;  // null: no rank receives our input
  RankInput input;
  JobFetch fetch;

 private:
  std::shared_ptr<OwnTerminal> MakeOwnTerminal(const Signal& signal);
};

}  // namespace autodist::chief
