// Implements run --chief-on: checks the request here, then starts the chief on a node.
#pragma once

#include <memory>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/job_request.pb.h"
#include "autodist/v1/plan.pb.h"
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

}  // namespace autodist::cli
