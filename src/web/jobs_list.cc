#include "web/jobs_list.h"

#include <algorithm>
#include <chrono>

#include "control/jobs.h"

namespace autodist::web {
namespace {

constexpr std::chrono::seconds kFresh{2};

}  // namespace

JobsPage JobsList::Get() {
  const std::lock_guard lock(mutex_);
  if (fresh_ && !fresh_->Expired()) return page_;
  page_.jobs = control::ListJobs(/*all=*/true);
  std::ranges::reverse(page_.jobs);
  page_.progress.clear();
  std::map<std::string, std::unique_ptr<control::BoardReader>> readers;
  for (const v1::JobStatus& job : page_.jobs) {
    if (job.phase() == v1::JOB_PHASE_ENDED || job.chief_gone()) continue;
    auto& reader = readers[job.job_id()];
    if (const auto found = readers_.find(job.job_id()); found != readers_.end()) {
      reader = std::move(found->second);
    } else {
      reader = std::make_unique<control::BoardReader>(job.job_id());
    }
    const auto board = reader->Board();
    if (board.ok() && (*board)->has_progress()) {
      page_.progress.insert_or_assign(job.job_id(), (*board)->progress());
    }
  }
  readers_ = std::move(readers);
  fresh_ = base::Deadline::After(kFresh);
  return page_;
}

}  // namespace autodist::web
