// autodist prune [JOB]... [--older-than DURATION] [--keep N] [--dry-run]
#include <algorithm>
#include <cstdio>
#include <limits>

#include "base/exit_codes.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/job_text.h"
#include "cli/named_job.h"
#include "cli/values.h"
#include "control/jobs.h"
#include "control/prune.h"

namespace autodist::cli {
namespace {

struct PruneOptions {
  std::vector<std::string> jobs;
  std::optional<double> older_than_s;
  std::optional<uint64_t> keep;
  bool dry_run = false;
};

Result<std::vector<v1::JobStatus>> NamedJobs(const std::vector<std::string>& words) {
  std::vector<v1::JobStatus> jobs;
  for (const std::string& word : words) {
    AD_ASSIGN_OR_RETURN(v1::JobStatus job, NamedJob(word, "prune"));
    // A job of another machine may have ended there; it is only forgotten. Slurm may know that.
    const bool runs = !job.elsewhere() || job.slurm_state() == v1::SLURM_STATE_RUNNING;
    if (runs) AD_RETURN_IF_ERROR(CheckIsOver(job));
    if (control::MayStillRun(job, base::MillisecondsSince1970())) {
      const bool lost = job.slurm_state() == v1::SLURM_STATE_NODE_DOWN;
      return WithRemedy(Error(StatusCode::kFailedPrecondition,
                              "job " + job.job_id() + " has crashed, and its ranks may still run"),
                        lost ? "run it again when " + job.host() +
                                   " answers Slurm, or an hour after the last output"
                             : "`autodist clean " + job.job_id() + "` ends them");
    }
    const bool again = std::ranges::any_of(
        jobs, [&](const v1::JobStatus& known) { return known.job_id() == job.job_id(); });
    if (!again) jobs.push_back(std::move(job));
  }
  return jobs;
}

Result<std::vector<v1::JobStatus>> ChosenJobs(const PruneOptions& options) {
  const bool by_rule = options.older_than_s || options.keep;
  if (by_rule == !options.jobs.empty()) {
    return WithRemedy(
        Error(StatusCode::kInvalidArgument,
              by_rule ? "--older-than and --keep cannot be used with JOB" : "prune: no jobs given"),
        "give --older-than 7d, --keep 20, or jobs; `autodist ps --all` lists them");
  }
  if (!by_rule) return NamedJobs(options.jobs);
  control::PruneRule rule{.older_than = {}, .keep = options.keep};
  if (options.older_than_s) {
    rule.older_than = std::chrono::milliseconds(static_cast<int64_t>(*options.older_than_s * 1000));
  }
  std::vector<v1::JobStatus> jobs = control::ListJobs();
  std::erase_if(jobs, [](const v1::JobStatus& job) { return job.elsewhere(); });
  return control::JobsToPrune(jobs, rule, base::MillisecondsSince1970());
}

int Prune(const PruneOptions& options) {
  const auto jobs = ChosenJobs(options);
  if (!jobs.ok()) return Fail(jobs.status(), kExitUsage);
  uint64_t bytes = 0;
  size_t removed = 0;
  for (const v1::JobStatus& job : *jobs) {
    const uint64_t size = job.elsewhere() ? 0 : control::LogBytes(job);
    const Status done = options.dry_run ? OkStatus() : control::RemoveJob(job);
    if (!done.ok()) {
      base::LogFailure(Annotate(done, "job " + job.job_id()));
      continue;
    }
    bytes += size;
    ++removed;
    std::printf("%s %s%s, %s, %s\n", options.dry_run ? "would remove" : "removed",
                job.job_id().c_str(),
                job.name().empty() ? "" : (" (" + base::Printable(job.name()) + ")").c_str(),
                StateText(job).c_str(), base::Bytes(size).c_str());
  }
  std::printf("%s%s, %s of logs\n", options.dry_run ? "would remove " : "removed ",
              base::Count(removed, "job").c_str(), base::Bytes(bytes).c_str());
  return removed == jobs->size() ? 0 : kExitCannotLaunch;
}

}  // namespace

Command AddPrune(CLI::App& app) {
  auto options = std::make_shared<PruneOptions>();
  app.add_option("JOB", options->jobs, "Ended jobs to remove")->check(NotEmpty());
  app.add_option("--older-than", options->older_than_s,
                 "Jobs that ended at least this long ago: 12h, 7d")
      ->transform(DurationWithUnit(kMaxTimeout));
  app.add_option("--keep", options->keep, "Jobs that are not among the N newest")
      ->check(WholeNumber(0, std::numeric_limits<uint32_t>::max()));
  app.add_flag("--dry-run", options->dry_run, "List the jobs and remove nothing");
  app.footer(R"(
Removes ended and crashed jobs from the list of `autodist ps --all`, and their
log folders with all files, fetched ones included. With --older-than and --keep,
removes jobs that are both older and not among the newest. Keeps running jobs,
and jobs that crashed in the last hour while ranks may still run; end those with
`autodist clean JOB`.

Examples:
  autodist prune --older-than 7d --dry-run
  autodist prune --keep 20
  autodist prune 3fa9c1 sweep-3)");
  return [options] { return Prune(*options); };
}

}  // namespace autodist::cli
