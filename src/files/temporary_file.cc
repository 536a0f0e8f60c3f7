#include "files/temporary_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>

#include "base/deadline.h"
#include "base/folder_entries.h"
#include "base/random.h"
#include "base/split.h"
#include "base/wall_clock.h"
#include "files/file_tree.h"

namespace autodist::files {
namespace {

constexpr std::string_view kPrefix = ".autodist-sync-";
constexpr size_t kMinHole = 4096;  // bytes: a block of most file systems

Status WrongSize() {
  return Error(StatusCode::kInvalidArgument, "the content has another size than announced");
}

}  // namespace

std::string NewTemporaryName() { return std::string(kPrefix) + base::RandomHex(); }

bool IsTemporaryName(std::string_view name) {
  return name.starts_with(kPrefix) && name.size() == kPrefix.size() + 32 &&
         name.find_first_not_of("0123456789abcdef", kPrefix.size()) == std::string_view::npos;
}

bool HasTemporary(const std::string& folder, const std::string& name) {
  struct stat info;
  return IsTemporaryName(name) && lstat((folder + "/" + name).c_str(), &info) == 0;
}

Result<TemporaryFile> TemporaryFile::Create(int folder) {
  for (;;) {
    std::string name = NewTemporaryName();
    base::UniqueFd fd(openat(folder, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd.valid()) return ErrnoError(errno, "making a file");
    flock(fd.get(), LOCK_EX | LOCK_NB);  // without lock support leftovers stay
    struct stat info;
    if (fstat(fd.get(), &info) != 0) return ErrnoError(errno, "making a file");
    // Another process removed it as a leftover before we locked it.
    if (info.st_nlink > 0) return TemporaryFile(folder, std::move(fd), std::move(name));
  }
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : folder_(other.folder_),
      fd_(std::move(other.fd_)),
      name_(std::exchange(other.name_, std::string())) {}

TemporaryFile::~TemporaryFile() {
  if (!name_.empty()) unlinkat(folder_, name_.c_str(), 0);
}

Status TemporaryFile::Keep(const std::string& name) {
  if (renameat(folder_, name_.c_str(), folder_, name.c_str()) != 0) {
    return ErrnoError(errno, "renaming a file");
  }
  name_.clear();
  fd_.Reset();
  return OkStatus();
}

void RemoveLeftovers(int folder) {
  for (const std::string& name : base::EntriesOf(folder)) {
    if (!IsTemporaryName(name)) continue;
    struct stat info;
    if (fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(info.st_mode)) {
      const base::UniqueFd fd(
          openat(folder, name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      if (!fd.valid() || flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
      unlinkat(folder, name.c_str(), 0);
    } else if (S_ISLNK(info.st_mode)) {
      unlinkat(folder, name.c_str(), 0);  // links are renamed at once, so it is a leftover
    }
  }
}

Status CheckPathWithin(const std::string& path) {
  bool good = !path.empty() && path.size() < PATH_MAX && path.find('\0') == std::string::npos;
  for (const std::string_view part : base::Split(path, '/')) {
    good = good && !part.empty() && part != "." && part != "..";
  }
  return good ? OkStatus()
              : Error(StatusCode::kInvalidArgument, "'" + path + "' is not a path in a folder");
}

base::UniqueFd OpenFolderIn(int folder, const std::string& name) {
  return base::UniqueFd(
      openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

base::UniqueFd OpenFileIn(int folder, const std::string& name) {
  base::UniqueFd fd(
      openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info;
  if (fd.valid() && (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))) {
    fd.Reset();
    errno = EINVAL;
  }
  return fd;
}

base::UniqueFd OpenFolderWithin(int root, std::string_view path) {
  base::UniqueFd folder(openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const std::string_view part : base::Split(path, '/')) {
    if (folder.valid() && !part.empty()) folder = OpenFolderIn(folder.get(), std::string(part));
  }
  return folder;
}

std::optional<int64_t> MeasuredTimeOfFiles(int folder) {
  const auto file = TemporaryFile::Create(folder);
  struct stat info;
  // A write, because an empty file may have the time of this machine.
  if (!file.ok() || write(file->fd(), "x", 1) != 1 || fstat(file->fd(), &info) != 0) {
    return std::nullopt;
  }
  return ModifiedNs(info);
}

int64_t TimeOfFilesNow(int folder) {
  return MeasuredTimeOfFiles(folder).value_or(base::NanosecondsSince1970());
}

int SetModified(int fd, int64_t modified_ns) {
  const std::chrono::nanoseconds time(modified_ns);
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const timespec times[] = {{0, UTIME_OMIT}, {whole.count(), (time - whole).count()}};
  return futimens(fd, times);
}

Result<NewFile> NewFile::Create(int folder, const std::string& name,
                                const FileAttributes& attributes) {
  base::UniqueFd own(fcntl(folder, F_DUPFD_CLOEXEC, 0));
  if (!own.valid()) return ErrnoError(errno, "dup");
  AD_ASSIGN_OR_RETURN(TemporaryFile file, TemporaryFile::Create(own.get()));
  return NewFile(std::move(own), name, attributes, std::move(file));
}

Status NewFile::Write(std::string_view data) {
  if (data.size() >= kMinHole && data.find_first_not_of('\0') == std::string_view::npos) {
    return AddHole(data.size());
  }
  size_ += data.size();
  return base::WriteAll(file_.fd(), data, base::Deadline::Never());
}

Status NewFile::AddHole(uint64_t bytes) {
  if (bytes == 0) return OkStatus();
  if (size_ > attributes_.size || bytes > attributes_.size - size_) return WrongSize();
  size_ += bytes;
  const auto end = static_cast<off_t>(size_);
  if (ftruncate(file_.fd(), end) == 0 && lseek(file_.fd(), end, SEEK_SET) == end) return OkStatus();
  return ErrnoError(errno, "making a hole");
}

Status NewFile::Finish() {
  if (size_ != attributes_.size) return WrongSize();
  if (fchmod(file_.fd(), attributes_.mode & kPermissions) != 0 ||
      SetModified(file_.fd(), attributes_.modified_ns) != 0) {
    return ErrnoError(errno, "setting permissions and time");
  }
  return file_.Keep(name_);
}

}  // namespace autodist::files
