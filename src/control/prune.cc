#include "control/prune.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/fd.h"
#include "base/folder_entries.h"
#include "base/log_folder.h"
#include "base/random.h"
#include "base/wall_clock.h"
#include "control/job_record.h"

namespace autodist::control {
namespace {

// Most leases are much shorter.
constexpr std::chrono::milliseconds kMaxLease = std::chrono::hours(1);

// A crashed job has no end: uses its last known time.
int64_t EndOf(const v1::JobStatus& job) {
  if (job.ended_ms() != 0) return job.ended_ms();
  return std::max(job.started_ms(), job.last_output_ms());
}

int64_t Milliseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

// Returns the time by the clock of the folder's file server, which a new file gets. nullopt: no
// file can be made.
std::optional<int64_t> TimeOfFilesNow(const std::string& folder) {
  const std::string path = folder + "/.clock-" + base::RandomHex();
  const base::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) return std::nullopt;
  struct stat info;
  // A write, because an empty file may have the time of this machine.
  const bool known = write(file.get(), "x", 1) == 1 && fstat(file.get(), &info) == 0;
  unlink(path.c_str());
  return known ? std::optional(Milliseconds(info.st_mtim)) : std::nullopt;
}

// Returns how long ago a file in the folder was written; nullopt: none was.
std::optional<int64_t> SinceLastWrittenMs(const std::string& folder, int64_t now_ms) {
  std::optional<int64_t> last;
  for (const std::string& name : base::EntriesOf(folder)) {
    struct stat info;
    if (lstat((folder + "/" + name).c_str(), &info) != 0) continue;
    last = std::max(last.value_or(0), Milliseconds(info.st_mtim));
  }
  if (last) *last = TimeOfFilesNow(folder).value_or(now_ms) - *last;
  return last;
}

}  // namespace

bool IsOver(const v1::JobStatus& job) {
  return job.phase() == v1::JOB_PHASE_ENDED || job.chief_gone();
}

bool MayStillRun(const v1::JobStatus& job, int64_t now_ms) {
  if (!job.chief_gone() || job.phase() == v1::JOB_PHASE_ENDED) return false;
  if (job.slurm_state() == v1::SLURM_STATE_ENDED) return false;
  const int64_t silent_ms = now_ms - EndOf(job);
  const auto unwritten_ms = SinceLastWrittenMs(job.attempt_folder(), now_ms);
  return std::min(silent_ms, unwritten_ms.value_or(silent_ms)) < kMaxLease.count();
}

Status EndCrashed(const v1::JobStatus& job, int exit_code) {
  v1::JobStatus ended = job;
  ended.clear_chief_gone();
  ended.clear_slurm_state();
  ended.set_phase(v1::JOB_PHASE_ENDED);
  ended.set_ended_ms(base::MillisecondsSince1970());
  ended.set_exit_code(exit_code);
  ended.set_report("its autodist was gone; `autodist clean` ended what was left");
  for (v1::NodeStatus& node : *ended.mutable_nodes()) {
    node.set_phase(v1::NODE_PHASE_ENDED);
    node.set_running_ranks(0);
  }
  return SaveStatus(ended, base::LogFolder(job.log_folder()));
}

std::vector<v1::JobStatus> JobsToPrune(const std::vector<v1::JobStatus>& jobs,
                                       const PruneRule& rule, int64_t now_ms) {
  std::vector<v1::JobStatus> over;
  for (const v1::JobStatus& job : jobs) {
    if (IsOver(job) && !MayStillRun(job, now_ms)) over.push_back(job);
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
  const bool is_recorded = recorded->log_folder() == job.log_folder();
  if (is_recorded && (job.elsewhere() || recorded->elsewhere())) {
    ForgetJob(job.job_id());
    return OkStatus();
  }
  if (!is_recorded || folder.filename() != job.job_id()) {
    return Error(StatusCode::kFailedPrecondition,
                 job.log_folder() + " is not removed, as it is not named like the job");
  }
  AD_RETURN_IF_ERROR(base::LogFolder(job.log_folder()).Remove());
  ForgetJob(job.job_id());
  return OkStatus();
}

}  // namespace autodist::control
