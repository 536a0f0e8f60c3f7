#include "cli/job_progress.h"

#include "base/parallel.h"
#include "control/job_client.h"

namespace autodist::cli {

std::optional<v1::Progress> ProgressIn(const v1::JobStatus& job, const v1::JobSnapshot& snapshot) {
  const bool over = job.phase() == v1::JOB_PHASE_ENDED || job.chief_gone();
  return over || !snapshot.has_progress() ? std::nullopt : std::optional(snapshot.progress());
}

std::optional<v1::Progress> ProgressOf(const v1::JobStatus& job) {
  if (job.phase() == v1::JOB_PHASE_ENDED || job.chief_gone()) return std::nullopt;
  const auto client = control::JobClient::Connect(job.job_id());
  if (!client.ok()) return std::nullopt;
  const auto snapshot = client->GetBoard(0);
  return snapshot.ok() && *snapshot ? ProgressIn(job, **snapshot) : std::nullopt;
}

std::map<std::string, v1::Progress> ProgressOf(const std::vector<v1::JobStatus>& jobs) {
  constexpr size_t kAskedAtOnce = 16;
  std::vector<std::optional<v1::Progress>> found(jobs.size());
  base::ParallelFor(jobs.size(), kAskedAtOnce, [&](size_t i) { found[i] = ProgressOf(jobs[i]); });
  std::map<std::string, v1::Progress> known;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (found[i]) known.emplace(jobs[i].job_id(), *std::move(found[i]));
  }
  return known;
}

}  // namespace autodist::cli
