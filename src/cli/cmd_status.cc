// autodist status [JOB] [--json]
#include <cstdio>

#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/job_progress.h"
#include "cli/job_text.h"
#include "cli/named_job.h"
#include "control/snapshot_client.h"
#include "control/status_json.h"

namespace autodist::cli {
namespace {

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
