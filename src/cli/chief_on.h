// run --chief-on: what is settled on this machine, and what goes to the node that has the chief.
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

// Whether the rest of the request goes with it.
Status CheckChiefOn(const v1::JobRequest& request, bool dry_run);

// What a run from outside needs, and no chief: where the spec has one, that is where it moves from.
Status LeaveChiefOut(spec::ResourceSpec& spec);

// Starts the run on this node. Returns the exit code; blocks as chief::StartRemote.
int RunFromNode(const plan::Input& input, const v1::LaunchPlan& plan, const std::string& node,
                std::shared_ptr<transfer::FolderSync> sync);

}  // namespace autodist::cli
