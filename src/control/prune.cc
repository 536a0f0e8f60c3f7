#include "control/prune.h"

#include <filesystem>

#include "base/log_folder.h"
#include "control/job_record.h"

namespace autodist::control {
namespace {

// A job that crashed has no end: the last that is known of it.
int64_t EndOf(const v1::JobStatus& job) {
  if (job.ended_ms() != 0) return job.ended_ms();
  return std::max(job.started_ms(), job.last_output_ms());
}

}  // namespace

bool IsOver(const v1::JobStatus& job) {
  return job.phase() == v1::JOB_PHASE_ENDED || job.chief_gone();
}

std::vector<v1::JobStatus> JobsToPrune(const std::vector<v1::JobStatus>& jobs,
                                       const PruneRule& rule, int64_t now_ms) {
  std::vector<v1::JobStatus> over;
  for (const v1::JobStatus& job : jobs) {
    if (IsOver(job)) over.push_back(job);
  }
  const size_t kept = std::min<uint64_t>(rule.keep.value_or(0), over.size());
  over.resize(over.size() - kept);
  std::erase_if(over, [&](const v1::JobStatus& job) {
    return rule.older_than && now_ms - EndOf(job) < rule.older_than->count();
  });
  return over;
}

uint64_t LogBytes(const v1::JobStatus& job) {
  namespace fs = std::filesystem;
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(job.log_folder(), error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    if (!entry->is_regular_file(gone) || entry->is_symlink(gone)) continue;
    const uintmax_t size = entry->file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

Status RemoveJob(const v1::JobStatus& job) {
  const std::filesystem::path folder = job.log_folder();
  const auto recorded = ReadRecord(job.job_id());
  AD_RETURN_IF_ERROR(recorded.status());
  if (folder.filename() != job.job_id() || recorded->log_folder() != job.log_folder()) {
    return Error(StatusCode::kFailedPrecondition,
                 job.log_folder() + " is not removed, as it is not named like the job");
  }
  AD_RETURN_IF_ERROR(base::LogFolder(job.log_folder()).Remove());
  ForgetJob(job.job_id());
  return OkStatus();
}

}  // namespace autodist::control
