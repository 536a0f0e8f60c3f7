// How a job is run.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "autodist/v1/plan.pb.h"
#include "base/log_folder.h"
#include "display/rank_lines.h"
#include "launch/launcher.h"
#include "plan/plan.h"

namespace autodist::chief {

struct JobOptions {
  launch::LaunchOptions launch;
  base::LogFolder log_folder;  // of this job
  display::View view;          // of what the ranks write
  // Whose input is what comes from here; the plan says what it is for the rank.
  enum class OwnInput { kNone, kPipe, kTerminal };
  OwnInput own_input = OwnInput::kNone;
  // Without, there is one attempt, by the first plan.
  std::function<Result<v1::LaunchPlan>(const plan::Replan& replan)> plan_attempt;
  // Prints a line of JSON to stdout; empty: nobody wants any. What ranks write is the view's.
  std::function<void(std::string line)> print_json;
  // Starts what shows the job to others, once its control socket is there; an error ends the job
  // before it begins. What it returns is called like on_status, and goes when the job has ended.
  // Empty: nothing does.
  using StatusListener = std::function<void(const v1::JobStatus& status)>;
  std::function<Result<StatusListener>()> start_views;
  // Called on Run's thread; must not block.
  StatusListener on_status;
  // Once, when all is ready, before the ranks start; on a thread that may wait for a disk.
  std::function<void()> on_running;
  // By what the nodes are reached.
  std::function<Result<std::unique_ptr<launch::Launcher>>(const v1::LaunchPlan& plan,
                                                          launch::LaunchOptions options)>
      make_launcher = launch::Launcher::Create;

  const v1::JobRequest& request() const { return launch.request; }
};

}  // namespace autodist::chief
