// Options of how a job is run.
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
  display::View view;          // of the ranks' output
  // What the rank with input receives from this process; the plan says what its stdin is.
  enum class OwnInput { kNone, kPipe, kTerminal };
  OwnInput own_input = OwnInput::kNone;
  // Returns a request with the nodes, for nodes.json (control/job_record.h); called on another
  // thread. Empty: they are not the user's after the end.
  std::function<std::string()> nodes;
  bool measures_goodput = true;  // whether the ranks train
  // Plans a restart. Empty: there is one attempt, with the first plan.
  std::function<Result<v1::LaunchPlan>(const plan::Replan& replan)> plan_attempt;
  // Prints a line of JSON to stdout; empty: JSON is not requested. The view prints the ranks'
  // output.
  std::function<void(std::string line)> print_json;
  // Starts the viewers (web) after the control socket is created; an error ends the job before it
  // begins. The returned function is called like on_status and destroyed when the job has ended.
  // Empty: no viewers.
  using StatusListener = std::function<void(const v1::JobStatus& status)>;
  std::function<Result<StatusListener>()> start_views;
  // Called on Run's thread; must not block.
  StatusListener on_status;
  // Called once, when all is ready, before the ranks start; on a thread that may wait for a disk.
  std::function<void()> on_running;
  // An attempt did not end well, and a GPU of this node needs repair. Called like on_status.
  std::function<void(const std::string& address, const std::string& why)> on_faulty_node;
  // Creates the launcher that connects to the nodes.
  std::function<Result<std::unique_ptr<launch::Launcher>>(const v1::LaunchPlan& plan,
                                                          launch::LaunchOptions options)>
      make_launcher = launch::Launcher::Create;

  const v1::JobRequest& request() const { return launch.request; }
};

// "Ctrl-C cancels"; for a job without a terminal: "`autodist stop JOB` cancels".
std::string HowToCancel(const v1::JobRequest& request, const std::string& job_id);

// "autodist clean --spec FILE": a command for the same nodes, to be run in the same folder; "" if
// the nodes are not known from options.
std::string CommandForNodes(const std::string& command, const v1::JobRequest& request);

}  // namespace autodist::chief
