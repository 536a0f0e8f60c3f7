#include "web/jobs_list.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/parallel.h"
#include "control/jobs.h"

namespace autodist::web {
namespace {

constexpr std::chrono::seconds kFresh{2};
constexpr size_t kAskedAtOnce = 16;

}  // namespace

// Newest first.
std::vector<v1::JobStatus> JobsList::List() const {
  std::vector<v1::JobStatus> jobs;
  if (only_.empty()) {
    jobs = control::ListJobs(/*all=*/true);
    std::ranges::reverse(jobs);
  } else if (auto job = control::LookUpJob(only_); job.ok()) {
    jobs.push_back(*std::move(job));
  }
  return jobs;
}

JobsPage JobsList::Get(const std::stop_token& stop) {
  const std::lock_guard lock(mutex_);
  if (fresh_ && !fresh_->Expired()) return page_;
  page_.jobs = List();
  page_.progress.clear();
  std::map<std::string, std::unique_ptr<control::SnapshotClient>> readers;
  std::vector<control::SnapshotClient*> asked;
  for (const v1::JobStatus& job : page_.jobs) {
    if (job.phase() == v1::JOB_PHASE_ENDED || job.chief_gone()) continue;
    auto& reader = readers[job.job_id()];
    if (const auto found = readers_.find(job.job_id()); found != readers_.end()) {
      reader = std::move(found->second);
    } else {
      reader = std::make_unique<control::SnapshotClient>(job.job_id());
    }
    asked.push_back(reader.get());
  }
  // A suspended autodist does not answer, so ask them in parallel.
  std::vector<v1::Progress> progress(asked.size());
  base::ParallelFor(asked.size(), kAskedAtOnce, [&](size_t i) {
    const auto snapshot = asked[i]->Snapshot(stop);
    if (snapshot.ok() && (*snapshot)->has_progress()) progress[i] = (*snapshot)->progress();
  });
  for (size_t i = 0; i < asked.size(); ++i) {
    if (progress[i].ByteSizeLong() > 0) page_.progress[asked[i]->job_id()] = progress[i];
  }
  readers_ = std::move(readers);
  fresh_ = base::Deadline::After(kFresh);
  return page_;
}

}  // namespace autodist::web
