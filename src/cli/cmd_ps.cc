// autodist ps [--all] [--json]
#include <unistd.h>

#include <cstdio>

#include "base/log.h"
#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/help_text.h"
#include "cli/job_progress.h"
#include "cli/job_text.h"
#include "control/jobs.h"
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

}  // namespace autodist::cli
