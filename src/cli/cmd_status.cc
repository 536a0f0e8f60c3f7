// autodist status [JOB] [--json]
// autodist ps [--all] [--json]
#include <unistd.h>

#include <cstdio>

#include "base/log.h"
#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/help_text.h"
#include "cli/job_text.h"
#include "cli/named_job.h"
#include "control/jobs.h"
#include "control/snapshot_client.h"
#include "control/status_json.h"

namespace autodist::cli {
namespace {

struct PsOptions {
  bool all = false;
  bool json = false;
};

int Ps(const PsOptions& options) {
  const int64_t now = base::MillisecondsSince1970();
  const std::vector<v1::JobStatus> jobs =
      options.all ? control::ListJobs(true) : control::ListJobsThatMayRun(now);
  const ProgressOfJobs progress = ProgressOf(jobs);
  if (options.json) {
    for (const v1::JobStatus& job : jobs) {
      const auto known = progress.find(job.job_id());
      const auto of_job = known == progress.end() ? std::nullopt : std::optional(known->second);
      std::printf("%s\n", control::StatusJson(job, of_job).c_str());
    }
    return 0;
  }
  if (jobs.empty()) {
    base::Log(base::LogLevel::kInfo,
              options.all ? "no jobs" : "no running jobs; `autodist ps --all` includes ended jobs");
    return 0;
  }
  std::fputs(
      JobTable(jobs, progress, now, isatty(STDOUT_FILENO) == 1 ? TerminalWidth() : 0).c_str(),
      stdout);
  return 0;
}

struct StatusOptions {
  std::string job;
  bool json = false;
};

int ShowStatus(const StatusOptions& options) {
  const auto job = NamedJob(options.job);
  if (!job.ok()) return Fail(job.status(), kExitUsage);
  v1::JobSnapshot snapshot;
  if (const auto known = control::SnapshotClient(job->job_id()).Snapshot(); known.ok())
    snapshot = **known;
  if (options.json) {
    const std::string json = control::StatusJson(
        *job, ProgressIn(*job, snapshot),
        {{"stalled", StalledJson(snapshot)}, {"ranks", control::RanksJson(*job, snapshot)}});
    std::puts(json.c_str());
    return 0;
  }
  std::fputs(JobText(*job, base::MillisecondsSince1970(), DetailsOf(snapshot)).c_str(), stdout);
  return 0;
}

}  // namespace

Command AddPs(CLI::App& app) {
  auto options = std::make_shared<PsOptions>();
  app.add_flag("--all,-a", options->all, "Include ended and crashed jobs");
  app.add_flag("--json", options->json, "Print one JSON object per line for each job");
  app.footer(R"(
Lists your running jobs on this machine, oldest first, detached or not. A job is
'crashed' if its chief was killed, or the machine went down, before the job
ended. Crashed jobs are listed while their ranks may still run.

Examples:
  autodist ps
  autodist ps --all
  autodist ps --json | jq -r .job_id)");
  return [options] { return Ps(*options); };
}

Command AddStatus(CLI::App& app) {
  auto options = std::make_shared<StatusOptions>();
  AddJob(app, options->job);
  app.add_flag("--json", options->json, "Print a JSON object");
  app.footer(R"(
Shows a job and its nodes; for an ended job, also its exit code and cause. Exit
code 0 if the job is known, whatever its state.

Examples:
  autodist status last
  autodist status 3fa9c1
  autodist status last --json | jq .exit_code)");
  return [options] { return ShowStatus(*options); };
}

}  // namespace autodist::cli
