#include "files/program_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/fd.h"
#include "base/private_folder.h"
#include "files/temporary_file.h"

namespace autodist::files {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kWritersLimit{500};
constexpr std::chrono::milliseconds kLookInterval{2};

Status Write(const std::string& path, std::string_view content) {
  const base::UniqueFd file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700));
  if (!file.valid()) return ErrnoError(errno, path);
  AD_RETURN_IF_ERROR(Annotate(base::WriteAll(file.get(), content, base::Deadline::Never()), path));
  // Guarantees the whole size after a power failure that follows the rename.
  return fsync(file.get()) == 0 ? OkStatus() : ErrnoError(errno, path);
}

// Waits until no process has the file open for writing, because the kernel does not execute it
// until then: a process that another thread has just forked inherits our descriptor until it
// executes its program. The kernel grants a read lease only without writers; where it supports no
// leases, as over NFS, waits for a short time.
void AwaitWriters(const std::string& path) {
  const base::UniqueFd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  const base::Deadline limit = base::Deadline::After(kWritersLimit);
  while (fcntl(file.get(), F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN && !limit.Expired()) {
    std::this_thread::sleep_for(kLookInterval);
  }
}

}  // namespace

bool HoldsProgram(const std::string& path, uint64_t size) {
  struct stat info;
  return base::CheckOnlyWeCanChange(fs::path(path).parent_path()).ok() &&
         lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         static_cast<uint64_t>(info.st_size) == size && access(path.c_str(), X_OK) == 0;
}

Status WriteProgram(const std::string& path, std::string_view content) {
  const fs::path folder = fs::path(path).parent_path();
  base::MakeFoldersAbove(path);
  AD_RETURN_IF_ERROR(base::CheckOnlyWeCanChange(folder));
  const std::string temporary = folder / NewTemporaryName();
  Status status = Write(temporary, content);
  if (status.ok()) AwaitWriters(temporary);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) status = ErrnoError(errno, path);
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

}  // namespace autodist::files
