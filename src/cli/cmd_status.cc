// autodist status [JOB] [--json]
// autodist ps [--all] [--json]
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/log.h"
#include "base/typed_command.h"
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
  bool verbose = false;
};

// After what is printed, which is as last recorded.
void WarnOfSilence(const v1::JobStatus& job) {
  if (!job.chief_silent()) return;
  std::fflush(stdout);
  base::Log(base::LogLevel::kWarning, base::FailureText(WhyUnreachable(job)));
}

int Ps(const PsOptions& options) {
  const int64_t now = base::MillisecondsSince1970();
  const std::vector<v1::JobStatus> jobs =
      options.all ? control::ListJobs() : control::ListJobsThatMayRun(now);
  const std::vector<v1::JobSnapshot> snapshots = SnapshotsOf(jobs);
  const ProgressOfJobs progress = ProgressIn(snapshots);
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
              (options.all ? "no jobs"
                           : "no running jobs; " + base::TypedCommand("ps --all") +
                                 " includes ended jobs") +
                  QueuedJobsText());
    return 0;
  }
  const size_t width = isatty(STDOUT_FILENO) == 1 ? TerminalWidth() : 0;
  std::fputs(JobTable(jobs, progress, StalledJobsIn(snapshots), now, width).c_str(), stdout);
  const std::string ranks = options.verbose ? RankTable(snapshots) : "";
  if (!ranks.empty()) std::printf("\n%s", ranks.c_str());
  std::fflush(stdout);  // before the notes, which may go to the same file
  if (std::ranges::any_of(jobs, [](const auto& job) { return job.elsewhere(); })) {
    base::Log(base::LogLevel::kInfo,
              std::string("jobs of other hosts are shown as last recorded") +
                  (options.verbose ? ", without ranks; `autodist status JOB --json`"
                                   : "; `autodist status JOB`") +
                  " asks there");
  }
  for (const v1::JobStatus& job : jobs) WarnOfSilence(job);
  return 0;
}

struct StatusOptions {
  bool json = false;
};

int ShowStatus(const StatusOptions& options, const v1::JobStatus& job) {
  v1::JobSnapshot snapshot;
  control::SnapshotClient reader(job.job_id(), job.log_folder());
  if (!job.chief_silent()) {
    if (const auto known = reader.Snapshot(); known.ok()) snapshot = **known;
  }
  if (options.json) {
    const std::string json = control::StatusJson(
        job, ProgressIn(job, snapshot),
        {{"stalled", StalledJson(snapshot)}, {"ranks", control::RanksJson(job, snapshot)}});
    std::puts(json.c_str());
    return 0;
  }
  std::fputs(JobText(job, base::MillisecondsSince1970(), DetailsOf(snapshot)).c_str(), stdout);
  WarnOfSilence(job);
  return 0;
}

}  // namespace

Command AddPs(CLI::App& app) {
  auto options = std::make_shared<PsOptions>();
  app.add_flag("--all,-a", options->all, "Include ended and crashed jobs");
  CLI::Option* const json =
      app.add_flag("--json", options->json, "Print one JSON object per line for each job");
  app.add_flag("-v,--verbose", options->verbose,
               "Also list the ranks of running jobs: node, process id, state")
      ->excludes(json);
  app.footer(R"(
Lists your running jobs, oldest first, detached or not: those of this machine, of
machines that share your home folder, and those that `run --chief-on` started from
here. A job is 'crashed' if its chief was killed, or the machine went down, before
the job ended. Crashed jobs are listed while their ranks may still run.

Examples:
  autodist ps
  autodist ps --all
  autodist ps -v
  autodist ps --json | jq -r .job_id)");
  return [options] { return Ps(*options); };
}

JobCommand AddStatus(CLI::App& app) {
  auto options = std::make_shared<StatusOptions>();
  app.add_flag("--json", options->json, "Print a JSON object");
  app.footer(R"(
Shows a job and its nodes; for an ended job, also its exit code and cause. Exit
code 0 if the job is known, whatever its state.

Examples:
  autodist status last
  autodist status 3fa9c1
  autodist status last --json | jq .exit_code)");
  return {[options](const v1::JobStatus& job) { return ShowStatus(*options, job); }};
}

}  // namespace autodist::cli
