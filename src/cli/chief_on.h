// Jobs whose chief is on another machine: starts the chief of a run on a node (--chief-on), and
// runs other commands where the chief is.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/job_request.pb.h"
#include "autodist/v1/plan.pb.h"
#include "cli/app.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "plan/plan.h"
#include "spec/resource_spec.h"
#include "transfer/folder_sync.h"

namespace autodist::cli {

// kInvalidArgument: an option of the request cannot be used with --chief-on.
Status CheckChiefOn(const v1::JobRequest& request, bool dry_run);

// Makes the chief a plain node, as for a run from outside. kInvalidArgument: it has no SSH login.
Status LeaveChiefOut(spec::ResourceSpec& spec);

// Starts the run on the node, and records it here. Returns the exit code; blocks as StartRemote.
int RunFromNode(const plan::Input& input, const v1::LaunchPlan& plan, const std::string& node,
                std::shared_ptr<transfer::FolderSync> sync);

// Runs a command on the node that has the chief of the job (run --chief-on), by --chief-on and
// --spec. Adds both options. The result runs the whole command line on the node of --chief-on;
// without --chief-on, or if the command line came from another machine, it runs `here`.
Command OrRemote(CLI::App& app, const CommandLine& line, Command here);

// Makes a command for the job that the positional JOB names, which it adds. The result runs it here
// or, for a recorded job of another machine, there: over ssh, or with srun for a job of Slurm.
Command ForJob(CLI::App& app, const CommandLine& line,
               const std::function<JobCommand(CLI::App& app)>& add);

}  // namespace autodist::cli
