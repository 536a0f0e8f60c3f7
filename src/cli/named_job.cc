#include "cli/named_job.h"

#include <filesystem>

#include "base/exit_codes.h"
#include "base/log.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/job_text.h"
#include "cli/values.h"
#include "control/jobs.h"
#include "control/prune.h"
#include "slurm/srun.h"

namespace autodist::cli {
namespace {

// The folder whose jobs are preferred; "" in that of a command from another machine (main.cc).
std::string ThisFolder() {
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error);
  return folder == "/" ? "" : folder;
}

}  // namespace

std::string QueuedJobsText() {
  return slurm::HasSrun() ? "; a batch job of Slurm is listed once it runs; until then, `squeue "
                            "--me` shows it"
                          : "";
}

void AddJob(CLI::App& app, std::string& job, const char* help) {
  app.add_option("JOB", job, help)->check(NotEmpty());
}

Result<v1::JobStatus> NamedJob(const std::string& word, const std::string& acting) {
  const bool is_path = word.find('/') != std::string::npos || word == "." || word == "..";
  if (is_path) return control::LookUpJobIn(word);
  const std::vector<std::string> jobs = control::KnownJobs();
  const std::string folder = ThisFolder();
  const auto id = word.empty() ? control::DefaultJob(control::ListRunningJobs(), jobs,
                                                     control::About, folder, acting)
                               : control::FindJob(word, jobs, control::About, folder);
  if (id.status().code() == StatusCode::kNotFound) {
    return WithRemedy(id.status(), Remedy(id.status()) + QueuedJobsText());
  }
  AD_RETURN_IF_ERROR(id.status());
  AD_ASSIGN_OR_RETURN(v1::JobStatus job, control::LookUpJob(*id));
  const bool is_named = !word.empty() && word != control::kLastJob;
  if (!is_named && !folder.empty() && !control::IsOfFolder(job, folder)) {
    base::Log(base::LogLevel::kInfo, "no job of this folder; using " + control::Described(job));
  }
  return job;
}

Status CheckIsOver(const v1::JobStatus& job) {
  if (control::IsOver(job)) return OkStatus();
  return WithRemedy(
      Error(StatusCode::kFailedPrecondition, "job " + job.job_id() + " has not ended"),
      "`autodist stop " + job.job_id() + "` ends it");
}

int FailUnreachable(const v1::JobStatus& job) {
  if (job.chief_gone()) {
    return Fail(Error(StatusCode::kUnavailable, CrashedText(job)), kExitCannotLaunch);
  }
  const std::string on_host = " is on " + job.host() + ", not on this machine";
  const Status unreachable = Error(
      StatusCode::kUnavailable,
      "job " + job.job_id() + (job.elsewhere() ? on_host : " runs, but its socket was removed"));
  return Fail(
      WithRemedy(unreachable, job.elsewhere()
                                  ? "log in to " + job.host() + " and run the command there"
                                  : "stop it with `kill " + std::to_string(job.chief_pid()) + "`"),
      kExitCannotLaunch);
}

Status CheckRanks(const std::vector<uint32_t>& ranks, const v1::JobStatus& job) {
  for (const uint32_t rank : ranks) {
    if (job.processes() == 0 || rank < job.processes()) continue;
    return Error(StatusCode::kInvalidArgument,
                 "job " + job.job_id() + " has no rank " + std::to_string(rank) + ", but " +
                     base::Count(job.processes(), "rank") + ", counted from 0");
  }
  return OkStatus();
}

}  // namespace autodist::cli
