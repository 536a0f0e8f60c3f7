// What Slurm's controller says of the job of this shell, which may have ended: tmux and screen
// outlive the job in which they were started, and keep its variables.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"

namespace autodist::slurm {

// Returns the output of `scontrol show` with these arguments. Blocks for `limit` at most.
Result<std::string> Scontrol(std::vector<std::string> arguments,
                             std::chrono::milliseconds limit = std::chrono::seconds(60));

// The same for the job of SLURM_JOB_ID. kInvalidArgument: it has ended.
Result<std::string> ScontrolJob(std::chrono::milliseconds limit = std::chrono::seconds(60));

// The value in a line "Name     = value" of `scontrol show config`; or "". Pure logic.
std::string_view SettingIn(std::string_view config, std::string_view name);

// Whether `scontrol show job`, in its output or its error, says that the job has ended. Pure logic.
bool SaysEnded(std::string_view said);

// The state of the job in the same text. It has ended if it does not complete any more, or is
// queued again. Pure logic.
v1::SlurmState StateIn(std::string_view said);

// A job that was submitted. Other: it has begun, or its state is unknown.
enum class SubmissionState { kPending, kEnded, kOther };

// The state of the job in the same text. Pure logic.
SubmissionState SubmissionStateIn(std::string_view said);

// Asks Slurm's controller for the state of the job in the note. Other: also if the job may be
// another cluster's. Blocks for some seconds at most.
SubmissionState SubmissionStateOf(const v1::JobNote& note);

// Asks Slurm's controller for the name of the cluster; "": no answer. Blocks for some seconds at
// most.
std::string ThisCluster();

// Whether `scontrol show node` shows a node that answers Slurm. Pure logic.
bool NodeAnswers(std::string_view said);

// Asks Slurm's controller for the state of the job in the note. Unspecified: it does not answer, or
// the job may be another cluster's. Blocks for some seconds at most. Remembers the answer for a
// while, because views ask often. Thread-safe.
v1::SlurmState StateOf(const v1::JobNote& note);

// Whether Slurm sets the variable for a job; false for settings, such as SLURM_CONF. Pure logic.
bool IsOfJob(std::string_view variable);

// Fails if the job of SLURM_JOB_ID is known to have ended. Blocks for some seconds at most.
Status CheckJobRuns();

// Removes the variables of a job that has ended from this process's environment, and logs it.
// Blocks like CheckJobRuns. Call while the process has one thread.
void LeaveEndedJob();

}  // namespace autodist::slurm
