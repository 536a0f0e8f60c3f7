#include "control/job_record.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/fd.h"
#include "base/home_folder.h"
#include "base/private_folder.h"
#include "control/job_socket.h"
#include "control/jobs.h"
#include "json/proto_json.h"

namespace autodist::control {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxRecords = 200;
constexpr size_t kLargestStatus = 16 << 20;  // bytes
constexpr char kStatusName[] = "job.json";

// Whether the folder can be written to or created.
bool CanBeWritten(const fs::path& folder) {
  std::error_code error;
  fs::path there = folder;
  while (there.has_relative_path() && !fs::exists(there, error)) there = there.parent_path();
  return fs::is_directory(there, error) && access(there.c_str(), W_OK | X_OK) == 0;
}

// All users can write to /tmp, so the folder must belong to this user alone.
std::string FolderInTmp() { return "/tmp/autodist-state-" + std::to_string(geteuid()); }

// The first folder that can be written to, which is the same in each command. Some users, as in a
// container, have no home folder or cannot write to it. "": no folder.
std::string RecordFolder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  std::vector<std::string> places;
  if (state && state[0] == '/') places.push_back(std::string(state) + "/autodist/jobs");
  std::string home = base::HomeFolder();
  while (home.ends_with('/')) home.pop_back();
  if (!base::HomeFolder().empty()) places.push_back(home + "/.local/state/autodist/jobs");
  const auto found = std::ranges::find_if(places, CanBeWritten);
  if (found != places.end()) return *found;
  return base::CanBePrivateFolder(FolderInTmp()) ? FolderInTmp() + "/jobs" : "";
}

Status MakeFolders(const std::string& path) {
  if (path.starts_with(FolderInTmp() + "/")) {
    AD_RETURN_IF_ERROR(base::MakePrivateFolder(FolderInTmp(), "remove it"));
  }
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) fs::permissions(path, fs::perms::owner_all, error);
  return error ? ErrnoError(error.value(), "making the folder " + path) : OkStatus();
}

bool LeadsNowhere(const std::string& link) {
  struct stat info;
  return stat(link.c_str(), &info) != 0 && errno == ENOENT;
}

// The record's entries, including those whose log folder was removed.
std::set<std::string> Entries(const std::string& folder) {
  std::set<std::string> jobs;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename();
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
  const std::string folder = RecordFolder();
  constexpr char kRemedy[] =
      "name a folder that you can write to, for all commands: export XDG_STATE_HOME=FOLDER";
  if (folder.empty()) {
    return WithRemedy(Error(StatusCode::kNotFound,
                            "neither the home folder nor " + FolderInTmp() + " can be written to"),
                      kRemedy);
  }
  const std::string link = folder + "/" + status.job_id();
  Status made = MakeFolders(folder);
  if (made.ok() && symlink(status.log_folder().c_str(), link.c_str()) != 0) {
    made = ErrnoError(errno, link);
  }
  if (!made.ok()) return WithRemedy(made, kRemedy);
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
