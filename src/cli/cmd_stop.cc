// autodist stop [JOB] [--now]
#include <signal.h>

#include "base/exit_codes.h"
#include "cli/commands.h"
#include "cli/named_job.h"
#include "control/job_client.h"

namespace autodist::cli {
namespace {

using base::Log;
using base::LogLevel;

struct StopOptions {
  std::string job;
  bool now = false;
};

int ReportEnd(const v1::JobStatus& job) {
  if (job.phase() != v1::JOB_PHASE_ENDED) return FailCrashed(job);
  Log(LogLevel::kInfo, "job " + job.job_id() + " has ended with exit code " +
                           std::to_string(job.exit_code()) +
                           (job.report().empty() ? "" : ":\n" + job.report()));
  return 0;
}

// What a user has asked for already is not asked for again: the second time it means more.
Status Ask(const control::JobClient& client, const v1::JobStatus& job, bool now) {
  const bool ending =
      job.stop_requested() || (job.phase() == v1::JOB_PHASE_STOPPING && !job.may_restart());
  int signals = ending ? 0 : 1;
  if (now) ++signals;
  for (int i = 0; i < signals; ++i) AD_RETURN_IF_ERROR(client.Signal(SIGTERM));
  return OkStatus();
}

int Stop(const StopOptions& options) {
  const auto job = NamedJob(options.job);
  if (!job.ok()) return Fail(job.status(), kExitUsage);
  if (job->phase() == v1::JOB_PHASE_ENDED || job->chief_gone()) return ReportEnd(*job);
  const auto client = control::JobClient::Connect(job->job_id());
  if (!client.ok()) {
    // It has ended a moment ago, or runs where we cannot reach it.
    const auto now = control::LookUpJob(job->job_id());
    if (now.ok() && (now->phase() == v1::JOB_PHASE_ENDED || now->chief_gone())) {
      return ReportEnd(*now);
    }
    return Fail(
        WithRemedy(client.status(), job->host().empty() ? std::string("see `autodist ps --all`")
                                                        : "run this on " + job->host()),
        kExitCannotLaunch);
  }
  Log(LogLevel::kInfo, "stopping job " + job->job_id() +
                           (options.now ? "" : "; --now ends its ranks without any grace"));
  const Status asked = Ask(*client, *job, options.now);
  // An end that came first is as good.
  if (!asked.ok() && asked.code() != StatusCode::kFailedPrecondition &&
      asked.code() != StatusCode::kUnavailable) {
    return Fail(Annotate(asked, "job " + job->job_id()), kExitCannotLaunch);
  }
  const auto ended = client->WaitForEnd({});
  if (ended.ok()) return ReportEnd(*ended);
  const auto found = control::LookUpJob(job->job_id());
  return found.ok() ? ReportEnd(*found) : Fail(found.status(), kExitCannotLaunch);
}

}  // namespace

Command AddStop(CLI::App& app) {
  auto options = std::make_shared<StopOptions>();
  AddJob(app, options->job);
  app.add_flag("--now", options->now, "Without the grace period: SIGKILL follows SIGTERM at once");
  app.footer(R"(
Ends a job as Ctrl-C in its terminal would: the ranks get SIGTERM, and SIGKILL when the --grace that
the job was started with is over. Returns once nothing of the job is left; exit code 0 if it has
ended, by this or before.

Examples:
  autodist stop last
  autodist stop 3fa9c1 --now)");
  return [options] { return Stop(*options); };
}

}  // namespace autodist::cli
