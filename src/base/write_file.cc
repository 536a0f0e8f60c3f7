#include "base/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/deadline.h"
#include "base/fd.h"

namespace autodist::base {
namespace {

Status MoveTo(const std::string& path, const std::string& from, IfExists if_exists) {
  if (if_exists == IfExists::kRefuse) {
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
      return OkStatus();
    }
    // NFS and some others know no such rename.
    if (errno != EINVAL && errno != ENOSYS) return ErrnoError(errno, path);
    AD_RETURN_IF_ERROR(CheckNothingAt(path));
  }
  return rename(from.c_str(), path.c_str()) == 0 ? OkStatus() : ErrnoError(errno, path);
}

// As the shell's '>' would make it.
mode_t UsualMode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

Status CheckNothingAt(const std::string& path) {
  struct stat there;
  return lstat(path.c_str(), &there) == 0 ? ErrnoError(EEXIST, path) : OkStatus();
}

Status WriteFile(const std::string& path, std::string_view content, IfExists if_exists,
                 Readers readers) {
  if (if_exists == IfExists::kRefuse) AD_RETURN_IF_ERROR(CheckNothingAt(path));
  std::string beside = path + ".XXXXXX";
  const UniqueFd fd(mkostemp(beside.data(), O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, path);
  Status written = WriteAll(fd.get(), content, Deadline::Never());
  if (written.ok() && (fchmod(fd.get(), readers == Readers::kOwner ? 0600 : UsualMode()) != 0 ||
                       fsync(fd.get()) != 0)) {
    written = ErrnoError(errno, path);
  }
  if (written.ok()) written = MoveTo(path, beside, if_exists);
  if (!written.ok()) unlink(beside.c_str());
  return written;
}

}  // namespace autodist::base
