// Finds the job that a user names on the command line.
#pragma once

#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "cli/app.h"

namespace autodist::cli {

inline constexpr char kJobHelp[] =
    "Job id (a unique prefix or suffix is enough), job name, Slurm job number, log folder, "
    "or 'last'; default: the job of this folder that runs, or else its last one";

// What a list of jobs does not have: "; a batch job of Slurm ...", or "" without Slurm.
std::string QueuedJobsText();

// Adds the positional JOB. Rejects an empty word, which an unset shell variable leaves.
void AddJob(CLI::App& app, std::string& job, const char* help = kJobHelp);

// Returns the job that the word names; for an empty word, and for `acting`, see
// control::DefaultJob. Logs which job it is if neither the word nor this folder says so. An error
// lists the candidates.
Result<v1::JobStatus> NamedJob(const std::string& word, const std::string& acting = "");

// kFailedPrecondition: the job still runs. A job that does not answer fails as WhyUnreachable.
Status CheckIsOver(const v1::JobStatus& job);

// Whether the autodist of the job has not ended and cannot be asked from here.
bool IsUnreachable(const v1::JobStatus& job);

// Why not: it has crashed, is on another machine, does not answer, or has lost its socket. Blocks
// for two seconds at most.
Status WhyUnreachable(const v1::JobStatus& job);

// Logs that, and returns the exit code.
int FailUnreachable(const v1::JobStatus& job);

// Returns the error of a command for a job whose autodist is on another host. The hint has the line
// that does it: "`autodist NAME --chief-on HOST JOB ARGUMENTS` EFFECT".
Status IsElsewhere(const v1::JobStatus& job, const std::string& name,
                   const std::vector<std::string>& arguments, const std::string& effect);

// kInvalidArgument: the job does not have all of these ranks.
Status CheckRanks(const std::vector<uint32_t>& ranks, const v1::JobStatus& job);

}  // namespace autodist::cli
