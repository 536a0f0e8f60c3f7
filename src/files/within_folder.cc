#include "files/within_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <climits>

#include "base/deadline.h"
#include "base/split.h"

namespace autodist::files {

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
  size_ += data.size();
  return base::WriteAll(file_.fd(), data, base::Deadline::Never());
}

Status NewFile::Finish() {
  if (size_ != attributes_.size) {
    return Error(StatusCode::kInvalidArgument, "the content has another size than announced");
  }
  if (fchmod(file_.fd(), attributes_.mode & kPermissions) != 0 ||
      SetModified(file_.fd(), attributes_.modified_ns) != 0) {
    return ErrnoError(errno, "setting permissions and time");
  }
  return file_.Keep(name_);
}

}  // namespace autodist::files
