// run --chief-on: what is settled on this machine, and what goes to the node that has the chief.
#pragma once

#include <string>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "cli/app.h"
#include "cli/run_options.h"
#include "launch/launch_options.h"
#include "plan/plan.h"
#include "spec/resource_spec.h"

namespace autodist::cli {

// Whether the other options of `run` go with it.
Status CheckChiefOn(const CLI::App& run, const RunOptions& options);

// What a run from outside needs, and no chief: where the spec has one, that is where it moves from.
Status LeaveChiefOut(spec::ResourceSpec& spec);

// Starts the run on this node. Returns the exit code; blocks as chief::StartThere.
int RunFromNode(const CLI::App& run, const RunOptions& options, const plan::Input& input,
                const v1::LaunchPlan& plan, const std::string& node,
                const launch::LaunchOptions& launch);

}  // namespace autodist::cli
