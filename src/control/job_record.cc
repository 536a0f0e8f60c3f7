#include "control/job_record.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/fd.h"
#include "base/folder_entries.h"
#include "base/private_folder.h"
#include "control/job_socket.h"
#include "control/jobs.h"
#include "control/state_folder.h"
#include "json/proto_json.h"

namespace autodist::control {
namespace {

constexpr size_t kMaxRecords = 200;
constexpr size_t kLargestStatus = 16 << 20;  // bytes
constexpr char kStatusName[] = "job.json";

// "": no folder.
std::string RecordFolder() {
  const auto folder = StateFolder();
  return folder.ok() ? *folder + "/jobs" : "";
}

bool LeadsNowhere(const std::string& link) {
  struct stat info;
  return stat(link.c_str(), &info) != 0 && errno == ENOENT;
}

// The record's entries, including those whose log folder was removed.
std::set<std::string> Entries(const std::string& folder) {
  std::set<std::string> jobs;
  for (std::string& name : base::EntriesOf(folder)) {
    if (IsJobId(name)) jobs.insert(std::move(name));
  }
  return jobs;
}

// Names begin with the time, so the oldest come first.
void Prune(const std::string& folder) {
  const std::set<std::string> listening = JobsWithSocket();
  std::set<std::string> records = Entries(folder);
  std::erase_if(records, [&](const std::string& job) {
    const std::string link = folder + "/" + job;
    return LeadsNowhere(link) && unlink(link.c_str()) == 0;
  });
  for (size_t left = records.size(); const std::string& job : records) {
    if (left-- <= kMaxRecords) break;
    if (!listening.contains(job)) unlink((folder + "/" + job).c_str());
  }
}

}  // namespace

Status RecordJob(const v1::JobStatus& status, const base::LogFolder& log_folder) {
  if (!IsJobId(status.job_id()) || !status.log_folder().starts_with('/')) {
    return Error(StatusCode::kInvalidArgument, "not a job that can be recorded");
  }
  AD_RETURN_IF_ERROR(SaveStatus(status, log_folder));
  AD_ASSIGN_OR_RETURN(const std::string state, StateFolder());
  const std::string folder = state + "/jobs";
  const std::string link = folder + "/" + status.job_id();
  Status made = MakeStateFolder(folder);
  if (made.ok() && symlink(status.log_folder().c_str(), link.c_str()) != 0) {
    made = ErrnoError(errno, link);
  }
  if (!made.ok()) return WithRemedy(made, kAnotherStateFolder);
  Prune(folder);
  return OkStatus();
}

Status SaveStatus(const v1::JobStatus& status, const base::LogFolder& folder) {
  return folder.WriteFile(kStatusName, AsJson(status) + "\n");
}

void ForgetJob(const std::string& job_id) {
  const std::string folder = RecordFolder();
  if (IsJobId(job_id) && !folder.empty()) unlink((folder + "/" + job_id).c_str());
}

Result<v1::JobStatus> ReadRecord(const std::string& job_id) {
  if (!IsJobId(job_id)) return Error(StatusCode::kInvalidArgument, "not the name of a job");
  const std::string path = RecordFolder() + "/" + job_id + "/" + kStatusName;
  AD_ASSIGN_OR_RETURN(const std::string text, base::ReadOwnFile(path, kLargestStatus));
  v1::JobStatus status;
  const Status parsed = json::FromJson(text, status, json::Unknown::kIgnored);
  if (!parsed.ok() || status.job_id() != job_id) {
    return Error(StatusCode::kDataLoss, path + " is not the record of this job");
  }
  if (!CheckJobName(status.name()).ok()) status.clear_name();
  return status;
}

std::set<std::string> RecordedJobs() {
  const std::string folder = RecordFolder();
  std::set<std::string> jobs = Entries(folder);
  std::erase_if(jobs, [&](const std::string& job) {
    return LeadsNowhere(folder + "/" + job + "/" + kStatusName);
  });
  return jobs;
}

std::string AttemptName(uint32_t attempt) { return "restart-" + std::to_string(attempt); }

std::string AttemptFolder(const std::string& log_folder, uint32_t attempt) {
  return attempt == 0 ? log_folder : log_folder + "/" + AttemptName(attempt);
}

std::string AsJson(const v1::JobStatus& status) {
  return json::ToJson(status, json::Layout::kAllFields).value_or("");
}

}  // namespace autodist::control
