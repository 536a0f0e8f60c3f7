// What Slurm's controller says of the job of this shell, which may have ended: tmux and screen
// outlive the job in which they were started, and keep its variables.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"

namespace autodist::slurm {

// Returns the output of `scontrol show` with these arguments. Blocks for `limit` at most.
Result<std::string> Scontrol(std::vector<std::string> arguments,
                             std::chrono::milliseconds limit = std::chrono::seconds(60));

// The same for the job of SLURM_JOB_ID. kInvalidArgument: it has ended.
Result<std::string> ScontrolJob(std::chrono::milliseconds limit = std::chrono::seconds(60));

// Whether `scontrol show job`, in its output or its error, says that the job has ended. Pure logic.
bool SaysEnded(std::string_view said);

// Whether it says that no process of the job is left: the job has ended and does not complete any
// more, or is queued again. Pure logic.
bool SaysNothingRuns(std::string_view said);

// Asks Slurm's controller whether no process of the job, which has the node, is left; false if it
// does not answer, or does not know the node: it is another cluster's. Blocks for some seconds at
// most. Remembers the answer for a while, because views ask often. Thread-safe.
bool NothingRuns(const std::string& job, const std::string& node);

// Whether Slurm sets the variable for a job; false for settings, such as SLURM_CONF. Pure logic.
bool IsOfJob(std::string_view variable);

// Fails if the job of SLURM_JOB_ID is known to have ended. Blocks for some seconds at most.
Status CheckJobRuns();

// Removes the variables of a job that has ended from this process's environment, and logs it.
// Blocks like CheckJobRuns. Call while the process has one thread.
void LeaveEndedJob();

}  // namespace autodist::slurm
