#include "base/log_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

#include "base/folder_entries.h"
#include "base/random.h"
#include "base/write_file.h"

namespace autodist::base {
namespace {

constexpr mode_t kForUsAlone = 0700;
constexpr mode_t kFileForUsAlone = 0600;
constexpr char kUsualLogDir[] = "autodist-runs";
constexpr char kGitIgnore[] = ".gitignore";

Status Refuse(const Status& why) { return WithRemedy(why, "name another place with --log-dir"); }

Status Failure(const std::string& path, int error) {
  return Refuse(ErrnoError(error, "log folder " + path));
}

// Compares with the owner of a new file: a file server may map all files to one user.
bool IsOwnerOfWhatWeMake(int folder, uid_t owner) {
  const std::string name = ".owner-" + RandomHex();
  const UniqueFd file(
      openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileForUsAlone));
  struct stat info;
  const bool is = file.valid() && fstat(file.get(), &info) == 0 && info.st_uid == owner;
  if (file.valid()) unlinkat(folder, name.c_str(), 0);
  return is;
}

// Removes through the open folder, so that it cannot be replaced meanwhile.
Status RemoveContents(int folder, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const std::string here = "/proc/self/fd/" + std::to_string(folder) + "/";
  const std::vector<std::string> names = EntriesOf(folder);
  error.assign(errno, std::generic_category());
  for (const std::string& name : names) {
    if (!error) fs::remove_all(here + name, error);
  }
  return error ? ErrnoError(error.value(), "removing what is in " + path) : OkStatus();
}

// Lets git ignore a folder of log folders. Best effort; an existing file stays as it is.
void HideFromGit(const std::filesystem::path& folder) {
  if (folder.filename() != kUsualLogDir) return;
  const UniqueFd file(open((folder / kGitIgnore).c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (file.valid()) (void)WriteAll(file.get(), "*\n", Deadline::Never()).ok();
}

// A renamed folder does not count as removed.
bool IsRemoved(int folder) {
  struct stat info;
  return fstat(folder, &info) != 0 || info.st_nlink == 0;
}

Result<UniqueFd> MakeAndOpen(int above, const std::string& name, const std::string& path) {
  if (mkdirat(above, name.c_str(), kForUsAlone) != 0 && errno != EEXIST) {
    return Failure(path, errno);
  }
  UniqueFd folder(openat(above, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (!folder.valid() || fstat(folder.get(), &info) != 0) {
    return Failure(path, errno);
  }
  if (info.st_uid != geteuid() && !IsOwnerOfWhatWeMake(folder.get(), info.st_uid)) {
    return Refuse(
        Error(StatusCode::kPermissionDenied, "log folder " + path + ": another user owns it"));
  }
  if ((info.st_mode & 07777) != kForUsAlone) (void)!fchmod(folder.get(), kForUsAlone);
  return folder;
}

}  // namespace

struct LogFolder::Shared {
  std::string path;
  std::shared_ptr<Shared> above;  // null: the folder of a job
  std::string name;               // within `above`
  std::mutex mutex;
  std::vector<std::string> made_above;     // innermost first; guarded by mutex
  std::shared_ptr<const UniqueFd> folder;  // guarded by mutex

  Result<std::shared_ptr<const UniqueFd>> Open() {
    const std::lock_guard lock(mutex);
    if (folder && !IsRemoved(folder->get())) return folder;
    std::shared_ptr<const UniqueFd> in;
    if (above) {
      AD_ASSIGN_OR_RETURN(in, above->Open());
    } else {
      std::error_code error;
      const auto parent = std::filesystem::path(path).parent_path();
      for (auto missing = parent; !missing.empty() && !std::filesystem::exists(missing, error);
           missing = missing.parent_path()) {
        made_above.push_back(missing);
      }
      if (!parent.empty()) std::filesystem::create_directories(parent, error);
      if (error) return Failure(path, error.value());
      HideFromGit(parent);
    }
    AD_ASSIGN_OR_RETURN(UniqueFd made,
                        MakeAndOpen(in ? in->get() : AT_FDCWD, in ? name : path, path));
    folder = std::make_shared<const UniqueFd>(std::move(made));
    return folder;
  }
};

LogFolder::LogFolder(std::string path) : here_(std::make_shared<Shared>()) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  here_->path = std::move(path);
}

const std::string& LogFolder::path() const { return here_->path; }

LogFolder LogFolder::Within(const std::string& name) const {
  auto within = std::make_shared<Shared>();
  within->path = here_->path + "/" + name;
  within->above = here_;
  within->name = name;
  return LogFolder(std::move(within));
}

Result<std::shared_ptr<const UniqueFd>> LogFolder::Open() const { return here_->Open(); }

Result<UniqueFd> LogFolder::OpenFile(const std::string& name, int flags) const {
  AD_ASSIGN_OR_RETURN(const auto folder, Open());
  UniqueFd file(openat(folder->get(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
                       kFileForUsAlone));
  if (!file.valid()) return ErrnoError(errno, path() + "/" + name);
  return file;
}

Status LogFolder::Remove() const {
  struct stat info;
  if (lstat(path().c_str(), &info) != 0) return ErrnoError(errno, path());
  AD_ASSIGN_OR_RETURN(const auto folder, Open());
  AD_RETURN_IF_ERROR(RemoveContents(folder->get(), path()));
  if (rmdir(path().c_str()) != 0) return ErrnoError(errno, "removing " + path());
  const std::lock_guard lock(here_->mutex);
  // Folders that have other contents stay.
  for (const std::string& above : here_->made_above) {
    if (EntriesOf(above) == std::vector<std::string>{kGitIgnore}) {
      unlink((above + "/" + kGitIgnore).c_str());
    }
    if (rmdir(above.c_str()) != 0) break;
  }
  return OkStatus();
}

Status LogFolder::WriteFile(const std::string& name, std::string_view content) const {
  AD_ASSIGN_OR_RETURN(const auto folder, Open());
  return Annotate(WriteFileIn(folder->get(), name, content, IfExists::kReplace, Readers::kOwner),
                  path());
}

}  // namespace autodist::base
