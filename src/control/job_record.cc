#include "control/job_record.h"

#include <absl/strings/ascii.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/folder_entries.h"
#include "base/host_name.h"
#include "base/private_folder.h"
#include "base/random.h"
#include "control/job_socket.h"
#include "control/jobs.h"
#include "control/state_folder.h"
#include "json/proto_json.h"

namespace autodist::control {
namespace {

constexpr size_t kMaxRecords = 200;
constexpr size_t kMaxOfAllMachines = 1000;   // some of which are gone
constexpr size_t kLargestStatus = 16 << 20;  // bytes
constexpr size_t kLargestNote = 256 << 10;
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

std::string NotePath(const std::string& job_id) { return RecordFolder() + "/" + job_id + ".json"; }

// Whether a missing log folder of the job was removed: it is not on another machine.
bool IsOfThisHost(const std::string& job_id) {
  const auto note = ReadNote(job_id);
  return !note.ok() || base::IsThisHost(note->job().host());
}

bool WasStartedHere(const std::string& job_id) {
  const auto note = ReadNote(job_id);
  return !note.ok() || !note->chief_on().empty() || base::IsThisHost(note->job().host());
}

// Removes notes without a link, also incomplete ones: the job was forgotten while its note was
// written, or that was interrupted. A link is older than its note.
void RemoveOrphans(const std::string& folder) {
  for (const std::string& name : base::EntriesOf(folder)) {
    const std::string job = name.substr(0, name.find('.'));
    if (job == name || !IsJobId(job)) continue;
    struct stat info;
    const bool forgotten = lstat((folder + "/" + job).c_str(), &info) != 0 && errno == ENOENT;
    if (forgotten) unlink((folder + "/" + name).c_str());
  }
}

// Names begin with the time, so the oldest come first. Other machines remove their own jobs.
void Prune(const std::string& folder) {
  RemoveOrphans(folder);
  const std::set<std::string> listening = JobsWithSocket();
  std::set<std::string> records = Entries(folder);
  std::erase_if(records, [&](const std::string& job) {
    if (!LeadsNowhere(folder + "/" + job) || !IsOfThisHost(job)) return false;
    ForgetJob(job);
    return true;
  });
  for (size_t left = records.size(); const std::string& job : records) {
    if (left-- <= kMaxRecords) break;
    if (listening.contains(job)) continue;
    if (left > kMaxOfAllMachines || WasStartedHere(job)) ForgetJob(job);
  }
}

// Adds the link of a job to the record, and the folder of the record if it is missing.
Status AddLink(const v1::JobStatus& status) {
  AD_ASSIGN_OR_RETURN(const std::string state, StateFolder());
  const std::string folder = state + "/jobs";
  const std::string link = folder + "/" + status.job_id();
  Status made = MakeStateFolder(folder);
  if (made.ok() && symlink(status.log_folder().c_str(), link.c_str()) != 0) {
    made = ErrnoError(errno, link);
  }
  return made.ok() ? made : WithRemedy(made, kAnotherStateFolder);
}

// In a batch script or step, this process is on a node of the Slurm job.
void AddSlurm(v1::JobNote& note) {
  const char* const job = std::getenv("SLURM_JOB_ID");
  const char* const node = std::getenv("SLURMD_NODENAME");
  if (!job || !node) return;
  note.set_slurm_job(job);
  note.set_slurm_node(node);
  if (const char* const cluster = std::getenv("SLURM_CLUSTER_NAME")) {
    note.set_slurm_cluster(cluster);
  }
}

v1::JobStatus Brief(const v1::JobStatus& status) {
  v1::JobStatus brief = status;
  brief.clear_nodes();
  brief.clear_report();
  if (brief.ByteSizeLong() > kLargestNote / 2) brief.clear_command();
  return brief;
}

void RemoveInvalidName(v1::JobStatus& status) {
  if (!CheckJobName(status.name()).ok()) status.clear_name();
}

// Whether it can be a host name, which messages and hints contain.
bool MayBeHost(const std::string& name) {
  return !name.starts_with('-') && std::ranges::all_of(name, [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
  });
}

Result<v1::JobStatus> ReadStatus(const std::string& folder) {
  const std::string path = folder + "/" + kStatusName;
  AD_ASSIGN_OR_RETURN(const std::string text, base::ReadOwnFile(path, kLargestStatus));
  v1::JobStatus status;
  const Status parsed = json::FromJson(text, status, json::Unknown::kIgnored);
  if (!parsed.ok()) return Error(StatusCode::kDataLoss, path + " is not the record of a job");
  RemoveInvalidName(status);
  return status;
}

}  // namespace

Status RecordJob(const v1::JobStatus& status, const base::LogFolder& log_folder) {
  if (!IsJobId(status.job_id()) || !status.log_folder().starts_with('/')) {
    return Error(StatusCode::kInvalidArgument, "not a job that can be recorded");
  }
  AD_RETURN_IF_ERROR(SaveStatus(status, log_folder));
  AD_RETURN_IF_ERROR(AddLink(status));
  v1::JobNote note;
  *note.mutable_job() = Brief(status);
  AddSlurm(note);
  AD_RETURN_IF_ERROR(SaveNote(note));
  Prune(RecordFolder());
  return OkStatus();
}

Status RecordRemoteJob(const v1::JobNote& note) {
  const std::string& job_id = note.job().job_id();
  if (!IsJobId(job_id)) return Error(StatusCode::kInvalidArgument, "not a job");
  v1::JobNote kept = note;
  if (const auto known = ReadNote(job_id); known.ok()) {
    kept = *known;
    kept.set_chief_on(note.chief_on());
    kept.set_spec(note.spec());
  } else {
    AD_RETURN_IF_ERROR(AddLink(note.job()));
  }
  return SaveNote(kept);
}

Status SaveStatus(const v1::JobStatus& status, const base::LogFolder& folder) {
  AD_RETURN_IF_ERROR(folder.WriteFile(kStatusName, json::JsonText(status) + "\n"));
  auto note = ReadNote(status.job_id());
  if (!note.ok()) return OkStatus();  // it is not recorded, or not yet
  *note->mutable_job() = Brief(status);
  return SaveNote(*note);
}

// Not synchronized with the disk: a note that a power failure has cut is ignored.
Status SaveNote(const v1::JobNote& note) {
  const std::string path = NotePath(note.job().job_id());
  const std::string beside = path + "." + base::RandomHex();
  const base::UniqueFd file(open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoError(errno, path);
  Status written = base::WriteAll(file.get(), json::JsonText(note) + "\n", base::Deadline::Never());
  if (written.ok() && rename(beside.c_str(), path.c_str()) != 0) written = ErrnoError(errno, path);
  if (!written.ok()) unlink(beside.c_str());
  return written;
}

Result<v1::JobRequest> ReadNodes(const v1::JobStatus& job) {
  const std::string path = job.log_folder() + "/" + kNodesFile;
  AD_ASSIGN_OR_RETURN(const std::string text, base::ReadOwnFile(path, kLargestStatus));
  if (!IsRecorded(job)) {
    return Error(StatusCode::kPermissionDenied,
                 path + " is not used: the log folder is not that of a recorded job");
  }
  v1::JobRequest request;
  AD_RETURN_IF_ERROR(Annotate(json::FromJson(text, request, json::Unknown::kIgnored), path));
  return request;
}

void ForgetJob(const std::string& job_id) {
  const std::string folder = RecordFolder();
  if (!IsJobId(job_id) || folder.empty()) return;
  unlink((folder + "/" + job_id).c_str());
  unlink(NotePath(job_id).c_str());
}

Result<v1::JobNote> ReadNote(const std::string& job_id) {
  if (!IsJobId(job_id)) return Error(StatusCode::kInvalidArgument, "not the name of a job");
  AD_ASSIGN_OR_RETURN(const std::string text, base::ReadOwnFile(NotePath(job_id), kLargestNote));
  v1::JobNote note;
  const Status parsed = json::FromJson(text, note, json::Unknown::kIgnored);
  if (!parsed.ok() || note.job().job_id() != job_id) {
    return Error(StatusCode::kNotFound, NotePath(job_id) + " is not a note of this job");
  }
  RemoveInvalidName(*note.mutable_job());
  return note;
}

Result<v1::JobStatus> ReadRecord(const std::string& job_id) {
  if (!IsJobId(job_id)) return Error(StatusCode::kInvalidArgument, "not the name of a job");
  auto status = ReadStatus(RecordFolder() + "/" + job_id);
  if (status.ok() && status->job_id() != job_id) {
    return Error(StatusCode::kDataLoss,
                 RecordFolder() + "/" + job_id + " is the log folder of another job");
  }
  if (status.ok()) return status;
  const auto note = ReadNote(job_id);
  if (note.ok() && !base::IsThisHost(note->job().host())) {
    v1::JobStatus known = note->job();
    known.set_elsewhere(true);
    return known;
  }
  if (status.status().code() != StatusCode::kNotFound) return status;
  return Error(StatusCode::kNotFound, "job " + job_id +
                                          " is not recorded any more: it did not start, or its log "
                                          "folder was removed");
}

v1::JobStatus RecordOrId(const std::string& job_id) {
  v1::JobStatus job = ReadRecord(job_id).value_or(v1::JobStatus());
  job.set_job_id(job_id);
  return job;
}

std::string AbsoluteLogFolder(const std::string& log_folder) {
  std::error_code error;
  std::string folder = std::filesystem::absolute(log_folder, error).lexically_normal();
  if (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return folder;
}

Result<v1::JobStatus> ReadRecordIn(const std::string& log_folder) {
  const std::string folder = AbsoluteLogFolder(log_folder);
  struct stat info;
  if (stat(folder.c_str(), &info) != 0) return ErrnoError(errno, log_folder);
  auto status = ReadStatus(folder);
  if (status.status().code() == StatusCode::kNotFound) {
    return WithRemedy(Error(StatusCode::kNotFound,
                            log_folder + " is not the log folder of a job: it has no job.json"),
                      "name a folder such as autodist-runs/JOB");
  }
  AD_RETURN_IF_ERROR(status.status());
  if (!IsJobId(status->job_id())) {
    return Error(StatusCode::kDataLoss, folder + "/" + kStatusName + " is not the record of a job");
  }
  if (!MayBeHost(status->host())) status->clear_host();
  status->set_log_folder(folder);
  status->set_attempt_folder(AttemptFolder(folder, status->attempt()));
  return status;
}

bool IsRecorded(const v1::JobStatus& job) {
  const auto recorded = ReadRecord(job.job_id());
  return recorded.ok() && recorded->log_folder() == job.log_folder();
}

std::set<std::string> RecordedJobs() {
  const std::string folder = RecordFolder();
  std::set<std::string> jobs = Entries(folder);
  std::erase_if(jobs, [&](const std::string& job) {
    return LeadsNowhere(folder + "/" + job + "/" + kStatusName) && IsOfThisHost(job);
  });
  return jobs;
}

std::vector<v1::JobStatus> NotedJobs() {
  std::vector<v1::JobStatus> jobs;
  for (const std::string& id : Entries(RecordFolder())) {
    auto note = ReadNote(id);
    auto job = note.ok() ? std::move(*note->mutable_job()) : ReadRecord(id);
    if (job.ok()) jobs.push_back(*std::move(job));
  }
  return jobs;
}

std::string AttemptName(uint32_t attempt) { return "restart-" + std::to_string(attempt); }

std::string AttemptFolder(const std::string& log_folder, uint32_t attempt) {
  return attempt == 0 ? log_folder : log_folder + "/" + AttemptName(attempt);
}

}  // namespace autodist::control
