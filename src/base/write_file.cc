#include "base/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/random.h"

namespace autodist::base {
namespace {

constexpr size_t kRandomSize = 8;  // characters of the random part of a temporary name

Status CheckNothingIn(int folder, const std::string& name) {
  struct stat there;
  return fstatat(folder, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 ? ErrnoError(EEXIST, name)
                                                                         : OkStatus();
}

Status MoveTo(int folder, const std::string& name, const std::string& from, IfExists if_exists) {
  if (if_exists == IfExists::kRefuse) {
    if (renameat2(folder, from.c_str(), folder, name.c_str(), RENAME_NOREPLACE) == 0) {
      return OkStatus();
    }
    // NFS and some other file systems do not support renameat2.
    if (errno != EINVAL && errno != ENOSYS) return ErrnoError(errno, name);
    AD_RETURN_IF_ERROR(CheckNothingIn(folder, name));
  }
  return renameat(folder, from.c_str(), folder, name.c_str()) == 0 ? OkStatus()
                                                                   : ErrnoError(errno, name);
}

}  // namespace

Status CheckNothingAt(const std::string& path) { return CheckNothingIn(AT_FDCWD, path); }

Status WriteFile(const std::string& path, std::string_view content, IfExists if_exists,
                 Readers readers) {
  return WriteFileIn(AT_FDCWD, path, content, if_exists, readers);
}

Status WriteFileIn(int folder, const std::string& name, std::string_view content,
                   IfExists if_exists, Readers readers) {
  if (if_exists == IfExists::kRefuse) AD_RETURN_IF_ERROR(CheckNothingIn(folder, name));
  const std::string beside = name + "." + RandomHex().substr(0, kRandomSize);
  const UniqueFd fd(openat(folder, beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                           readers == Readers::kOwner ? 0600 : 0666));
  if (!fd.valid()) return ErrnoError(errno, name);
  Status written = Annotate(WriteAll(fd.get(), content, Deadline::Never()), name);
  if (written.ok() && fsync(fd.get()) != 0) written = ErrnoError(errno, name);
  if (written.ok()) written = MoveTo(folder, name, beside, if_exists);
  if (!written.ok()) unlinkat(folder, beside.c_str(), 0);
  return written;
}

}  // namespace autodist::base
