// Implements --chief-on: starts the chief of a run on a node, and runs other commands there.
#pragma once

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

// Starts the run on the node. Returns the exit code; blocks as chief::StartRemote does.
int RunFromNode(const plan::Input& input, const v1::LaunchPlan& plan, const std::string& node,
                std::shared_ptr<transfer::FolderSync> sync);

// Runs a command on the node that has the chief of the job (run --chief-on), by --chief-on and
// --spec. Adds both options. The result runs the whole command line on the node of --chief-on;
// without --chief-on, or if the command line came from another machine, it runs `here`.
Command OrRemote(CLI::App& app, const CommandLine& line, Command here);

}  // namespace autodist::cli
