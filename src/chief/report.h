// What a person is told when a job could not be launched or has failed.
#pragma once

#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "chief/job_state.h"
#include "chief/launch.h"
#include "chief/output.h"

namespace autodist::chief {

// All nodes on which the launch failed, each with cause and remedy; "" if there is none.
std::string LaunchReport(const v1::LaunchPlan& plan, const std::vector<LaunchedNode>& nodes);

// 126 or 127 if all that is wrong is the command, else 125; 0 if nothing is wrong.
int LaunchExitCode(const std::vector<LaunchedNode>& nodes);

// Why the job ended early, and what became of the other ranks; "" if it ended well.
std::string EndReport(const v1::LaunchPlan& plan, const JobState& state, const OutputWriter& output,
                      const std::string& log_folder);

}  // namespace autodist::chief
