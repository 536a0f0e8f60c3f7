#include "cli/jobs_in_folder.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "base/a_few_of.h"
#include "base/log.h"
#include "base/wall_clock.h"
#include "control/job_record.h"
#include "control/jobs.h"

namespace autodist::cli {
namespace {

// The recorded jobs with this working directory, without their nodes. Asks no other process.
std::vector<v1::JobStatus> NotedJobsIn(const std::string& working_directory) {
  std::vector<v1::JobStatus> jobs = control::NotedJobs();
  std::erase_if(
      jobs, [&](const v1::JobStatus& job) { return job.working_directory() != working_directory; });
  return jobs;
}

// "job 7 (name), which runs in this folder (since 12:00)"
std::string WhichRuns(const v1::JobStatus& job) {
  return "job " + job.job_id() + (job.name().empty() ? "" : " (" + job.name() + ")") +
         ", which runs in this folder (since " +
         base::LocalTime("%Y-%m-%d %H:%M:%S", job.started_ms() / 1'000) + ")";
}

// A job of another machine may have ended there without a note here.
std::string HowToEnd(const v1::JobStatus& job) {
  const std::string& id = job.job_id();
  return "`autodist stop " + id + "` ends it" +
         (job.elsewhere() ? "; if it has ended, `autodist prune " + id + "` forgets it" : "");
}

}  // namespace

std::vector<transfer::JobTime> TimesOfJobsIn(const std::string& working_directory) {
  constexpr int64_t kNsPerMs = 1'000'000;
  std::vector<transfer::JobTime> times;
  for (const v1::JobStatus& job : NotedJobsIn(working_directory)) {
    if (job.ended_ms() == 0) continue;
    times.push_back({job.started_ms() * kNsPerMs, job.ended_ms() * kNsPerMs});
  }
  return times;
}

std::vector<v1::JobStatus> RunningJobsIn(const std::string& working_directory) {
  std::vector<std::string> ids;
  for (const v1::JobStatus& job : NotedJobsIn(working_directory)) {
    if (job.phase() != v1::JOB_PHASE_ENDED) ids.push_back(job.job_id());
  }
  return control::RunningOf(ids);
}

Status CheckNoneRuns(const std::vector<v1::JobStatus>& running) {
  if (running.empty()) return OkStatus();
  const v1::JobStatus& job = running.front();
  return WithRemedy(Error(StatusCode::kFailedPrecondition,
                          "--sync-delete might delete files of " + WhichRuns(job)),
                    HowToEnd(job));
}

std::vector<transfer::NodeWarning> WarningsOfRunning(const std::vector<v1::JobStatus>& running,
                                                     const v1::LaunchPlan& plan) {
  std::vector<transfer::NodeWarning> warnings;
  for (const v1::JobStatus& job : running) {
    std::set<std::string> of_job;
    for (const v1::NodeStatus& node : job.nodes()) of_job.insert(node.address());
    std::set<uint32_t> ranks;
    std::vector<std::string> of_both;
    for (const v1::NodePlan& node : plan.nodes()) {
      if (node.reach().has_local() || !of_job.contains(node.address())) continue;
      ranks.insert(node.node_rank());
      of_both.push_back(node.address());
    }
    if (of_both.empty()) continue;
    warnings.push_back(
        {std::move(ranks),
         base::FailureText(WithRemedy(
             Error(StatusCode::kFailedPrecondition,
                   "files that differ are copied under " + WhichRuns(job) +
                       "; nodes of both jobs: " + base::AFewOf(of_both)),
             "to leave its files alone, start from a copy of the folder; " + HowToEnd(job)))});
  }
  return warnings;
}

}  // namespace autodist::cli
