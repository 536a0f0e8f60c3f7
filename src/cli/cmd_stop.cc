// autodist stop [JOB | --all] [--now]
#include <signal.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_codes.h"
#include "base/parallel.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/named_job.h"
#include "control/job_client.h"
#include "control/jobs.h"
#include "control/prune.h"

namespace autodist::cli {
namespace {

using base::Log;
using base::LogLevel;

struct StopOptions {
  bool now = false;
  bool all = false;
};

int ReportEnd(const v1::JobStatus& job) {
  if (job.phase() != v1::JOB_PHASE_ENDED) return FailUnreachable(job);
  Log(LogLevel::kInfo, "job " + job.job_id() + " has ended with exit code " +
                           std::to_string(job.exit_code()) +
                           (job.report().empty() ? "" : ":\n" + job.report()));
  return 0;
}

// Does not repeat an earlier request to stop: a second SIGTERM kills the ranks.
Status Ask(const control::JobClient& client, const v1::JobStatus& job, bool now) {
  const bool ending =
      job.stop_requested() || (job.phase() == v1::JOB_PHASE_STOPPING && !job.may_restart());
  int signals = ending ? 0 : 1;
  if (now) ++signals;
  for (int i = 0; i < signals; ++i) AD_RETURN_IF_ERROR(client.Signal(SIGTERM, "`autodist stop`"));
  return OkStatus();
}

int Stop(const StopOptions& options, const v1::JobStatus& job) {
  if (job.phase() == v1::JOB_PHASE_ENDED || IsUnreachable(job)) return ReportEnd(job);
  const auto client = control::JobClient::Connect(job.job_id());
  if (!client.ok()) {
    // The job may have just ended.
    const v1::JobStatus now = control::LookUpJob(job.job_id()).value_or(job);
    const bool busy = client.status().code() != StatusCode::kNotFound && !control::IsOver(now);
    return busy ? Fail(Annotate(client.status(), "job " + job.job_id()), kExitCannotLaunch)
                : ReportEnd(now);
  }
  Log(LogLevel::kInfo,
      "stopping job " + job.job_id() + (options.now ? "" : "; --now skips the grace period"));
  const Status asked = Ask(*client, job, options.now);
  // These codes mean that the job ended before the signal.
  if (!asked.ok() && asked.code() != StatusCode::kFailedPrecondition &&
      asked.code() != StatusCode::kUnavailable) {
    return Fail(Annotate(asked, "job " + job.job_id()), kExitCannotLaunch);
  }
  const auto ended = client->WaitForEnd({});
  if (ended.ok()) return ReportEnd(*ended);
  const auto found = control::LookUpJob(job.job_id());
  return found.ok() ? ReportEnd(*found) : Fail(found.status(), kExitCannotLaunch);
}

// Stops the jobs that run on this machine, at the same time.
int StopAll(const StopOptions& options) {
  std::vector<v1::JobStatus> jobs = control::ListRunningJobs();
  const size_t elsewhere =
      std::erase_if(jobs, [](const v1::JobStatus& job) { return job.elsewhere(); });
  if (elsewhere > 0) {
    Log(LogLevel::kInfo,
        base::Count(elsewhere, "job") +
            (elsewhere == 1 ? " of another machine is" : " of other machines are") +
            " not stopped; to stop one, name it: `autodist stop JOB`");
  }
  if (jobs.empty()) {
    Log(LogLevel::kInfo, "no job is running on this machine");
    return 0;
  }
  std::string text = "stopping " + base::Count(jobs.size(), "job") + ":";
  for (const v1::JobStatus& job : jobs) text += "\n  " + control::Described(job);
  Log(LogLevel::kInfo, text);
  std::vector<int> codes(jobs.size());
  base::ParallelFor(jobs.size(), jobs.size(), [&](size_t i) { codes[i] = Stop(options, jobs[i]); });
  return std::ranges::max(codes);
}

}  // namespace

JobCommand AddStop(CLI::App& app) {
  auto options = std::make_shared<StopOptions>();
  app.add_flag("--now", options->now, "Send SIGKILL immediately after SIGTERM");
  app.add_flag("--all", options->all, "Stop all of your jobs that run on this machine")
      ->excludes(app.get_option("JOB"));
  app.footer(R"(
Stops a job as Ctrl-C in its terminal would: the ranks receive SIGTERM and, after
the job's --grace, SIGKILL. Returns when nothing of the job is left. Exit code 0
if the job has ended, now or before. Without JOB, or with 'last', stops only a job
of this folder.

Examples:
  autodist stop last
  autodist stop 3fa9c1 --now
  autodist stop --all)");
  return {.run = [options](const v1::JobStatus& job) { return Stop(*options, job); },
          .acts = true,
          .without_job =
              [options] { return options->all ? std::optional(StopAll(*options)) : std::nullopt; }};
}

}  // namespace autodist::cli
