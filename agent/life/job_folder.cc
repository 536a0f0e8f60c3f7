#include "agent/life/job_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>

#include "agent/life/keepers.h"
#include "agent/prepare/device_claim.h"
#include "base/folder_entries.h"
#include "base/home_folder.h"
#include "base/private_folder.h"
#include "base/write_file.h"

namespace autodist::agent {
namespace {

constexpr size_t kLargestEndReason = 4096;
constexpr std::string_view kDeleted = " (deleted)";  // suffix of the path of an open file
constexpr size_t kEndReasonsKept = 500;              // several nodes may share a home folder

bool IsIn(const std::string& parent, const std::string& name) {
  return base::IsPrivateFolder(parent) && base::IsPrivateFolder(parent + "/" + name);
}

// Keeps the newest ones.
void RemoveOldEndReasons(const std::string& folder) {
  std::vector<std::pair<std::filesystem::file_time_type, std::filesystem::path>> reasons;
  std::error_code error;
  for (const std::string& name : base::EntriesOf(folder)) {
    const std::filesystem::path path = folder + "/" + name;
    reasons.emplace_back(std::filesystem::last_write_time(path, error), path);
  }
  std::ranges::sort(reasons, std::greater<>());
  for (size_t i = kEndReasonsKept; i < reasons.size(); ++i) {
    std::filesystem::remove(reasons[i].second, error);
  }
}

struct flock LockOf(JobLock which) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<int>(which);
  lock.l_len = 1;
  return lock;
}

}  // namespace

JobFolder::JobFolder(const std::string& job_id, const std::string& node_rank)
    : JobFolder(PlaceOf(job_id + "." + node_rank)) {}

JobFolder::JobFolder(Place place)
    : parent_(std::move(place.parent)),
      name_(std::move(place.name)),
      path_(parent_ + "/" + name_) {}

JobFolder::Place JobFolder::PlaceOf(const std::string& name) {
  const std::vector<std::string> parents = base::SocketFolders();
  for (const std::string& parent : parents) {
    if (IsIn(parent, name)) return {parent, name};
  }
  return {base::CanBePrivateFolder(parents.front()) ? parents.front() : parents.back(), name};
}

std::vector<JobFolder> JobFolder::All() {
  std::vector<JobFolder> all;
  for (const std::string& parent : base::SocketFolders()) {
    if (!base::IsPrivateFolder(parent)) continue;
    for (std::string& name : base::EntriesOf(parent)) {
      all.push_back(JobFolder(Place{parent, std::move(name)}));
    }
  }
  return all;
}

// Returns the folder as the process sees it: below /proc/PID/root.
std::optional<JobFolder> JobFolder::SeenBy(pid_t keeper, const std::string& name) {
  for (const std::string& parent : base::SocketFolders()) {
    const std::string seen = "/proc/" + std::to_string(keeper) + "/root" + parent;
    if (IsIn(seen, name)) return JobFolder(Place{seen, name});
  }
  return std::nullopt;
}

JobFolder JobFolder::Find(const std::string& job_id, const std::string& node_rank) {
  JobFolder folder(job_id, node_rank);
  if (HasWatchdog(folder)) return folder;
  for (const pid_t keeper : KeepersOf(folder.name())) {
    if (const auto seen = SeenBy(keeper, folder.name())) return *seen;
  }
  return folder;
}

std::vector<JobFolder> JobFolder::AllOfAnyLogin() {
  std::vector<JobFolder> all = All();
  const auto is_known = [&](const std::string& name) {
    return std::ranges::any_of(all, [&](const JobFolder& folder) { return folder.name_ == name; });
  };
  for (const auto& [name, keeper] : KeepersHere()) {
    if (is_known(name)) continue;
    const auto seen = SeenBy(keeper, name);
    all.push_back(seen ? *seen : JobFolder(PlaceOf(name)));
  }
  return all;
}

std::string JobFolder::chief_name() const {
  return "@autodist-" + std::to_string(geteuid()) + "/" + name_;
}

base::UniqueFd JobFolder::OpenLock(int flags) const {
  base::UniqueFd file(open(lock().c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.valid()) return file;
  for (const pid_t keeper : KeepersOf(name_)) {
    const std::string descriptors = "/proc/" + std::to_string(keeper) + "/fd/";
    for (const std::string& entry : base::EntriesOf(descriptors)) {
      std::string target = base::LinkTarget(descriptors + entry);
      if (target.ends_with(kDeleted)) target.resize(target.size() - kDeleted.size());
      if (!target.ends_with("/" + name_ + "/lock")) continue;
      return base::UniqueFd(open((descriptors + entry).c_str(), (flags & ~O_CREAT) | O_CLOEXEC));
    }
  }
  return {};
}

Status JobFolder::Make() const {
  const std::string longest = std::max(chief_socket(), rank_socket());
  if (!base::FitsUnixAddress(longest)) {
    return WithRemedy(ErrnoError(ENAMETOOLONG, longest),
                      "remove " + base::SocketFolders().front() + ", which is another's");
  }
  AD_RETURN_IF_ERROR(base::MakeSocketFolder(parent_));
  const auto make = [this] { return base::MakePrivateFolder(path_, "remove it"); };
  if (make().ok()) return OkStatus();
  // The end of another job may have removed it.
  AD_RETURN_IF_ERROR(base::MakeSocketFolder(parent_));
  return make();
}

bool JobFolder::IsOurs() const { return IsIn(parent_, name_); }

Result<base::UniqueFd> JobFolder::Lock() const {
  constexpr int kMaxAttempts = 100;  // each follows a removal of the folder by another process
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    AD_RETURN_IF_ERROR(Make());
    base::UniqueFd folder(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.valid() && errno == ENOENT) continue;
    if (!folder.valid() || flock(folder.get(), LOCK_EX) != 0) {
      return ErrnoError(errno, "locking " + path_);
    }
    struct stat locked;
    struct stat now;
    if (fstat(folder.get(), &locked) == 0 && lstat(path_.c_str(), &now) == 0 &&
        locked.st_ino == now.st_ino && locked.st_dev == now.st_dev) {
      return folder;
    }
  }
  return Error(StatusCode::kUnavailable, path_ + " is removed again and again");
}

// systemd-tmpfiles(8) does not touch what is below a locked folder.
base::UniqueFd JobFolder::KeepFromAgeing() const {
  base::UniqueFd folder(open(parent_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) flock(folder.get(), LOCK_SH | LOCK_NB);
  return folder;
}

void JobFolder::Remove() const {
  for (const std::string& file : {chief_socket(), rank_socket(), log(), lock(), cgroup()}) {
    unlink(file.c_str());
  }
  std::error_code best_effort;
  for (const std::string& file : FilesOfClaim(devices())) unlink(file.c_str());
  for (const std::string& folder : {pmix(), files()}) {
    std::filesystem::remove_all(folder, best_effort);
  }
  rmdir(path_.c_str());
  rmdir(parent_.c_str());  // succeeds after the last job
}

std::string JobFolder::end_reason() const {
  return base::ExpandHome("~/.cache/autodist/ended/" + name_);
}

void JobFolder::WriteEndReason(const std::string& text) const {
  const std::string file = end_reason();
  if (base::HomeFolder().empty()) return;
  base::MakeFoldersAbove(file);
  const base::UniqueFd fd(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (fd.valid()) {
    // Best effort: without it a later chief knows that the agent has ended, but not why.
    (void)base::WriteAll(fd.get(), text, base::Deadline::Never()).ok();
  }
  RemoveOldEndReasons(file.substr(0, file.rfind('/')));
}

std::string JobFolder::ReadEndReason() const {
  return base::ReadFile(end_reason(), kLargestEndReason).value_or("");
}

void JobFolder::RemoveEndReason() const { unlink(end_reason().c_str()); }

bool TakeLock(int lock_file, JobLock which) {
  struct flock lock = LockOf(which);
  return fcntl(lock_file, F_SETLK, &lock) == 0;
}

bool ShareLock(int lock_file, JobLock which) {
  struct flock lock = LockOf(which);
  lock.l_type = F_RDLCK;
  return fcntl(lock_file, F_SETLK, &lock) == 0;
}

void ReleaseLock(int lock_file, JobLock which) {
  struct flock lock = LockOf(which);
  lock.l_type = F_UNLCK;
  fcntl(lock_file, F_SETLK, &lock);
}

void AwaitLock(int lock_file, JobLock which) {
  struct flock lock = LockOf(which);
  while (fcntl(lock_file, F_SETLKW, &lock) != 0 && errno == EINTR) {
  }
  ReleaseLock(lock_file, which);
}

std::optional<pid_t> LockHolder(int lock_file, JobLock which) {
  struct flock lock = LockOf(which);
  if (fcntl(lock_file, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return std::nullopt;
  return lock.l_pid;
}

bool HasWatchdog(const JobFolder& folder) {
  const base::UniqueFd lock(open(folder.lock().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  return lock.valid() && LockHolder(lock.get(), JobLock::kWatchdog).has_value();
}

}  // namespace autodist::agent
