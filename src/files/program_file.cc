#include "files/program_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/fd.h"
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
  return Annotate(base::WriteAll(file.get(), content, base::Deadline::Never()), path);
}

// We have closed it, but a process that another thread has forked has it for as long as it takes to
// execute something, and until then the kernel lets nobody execute the file. It gives a lease to
// readers as soon as there is no writer; where it gives none at all, as over NFS, a moment has to
// do.
void AwaitWriters(const std::string& path) {
  const base::UniqueFd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  const base::Deadline limit = base::Deadline::After(kWritersLimit);
  while (fcntl(file.get(), F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN && !limit.Expired()) {
    std::this_thread::sleep_for(kLookInterval);
  }
}

}  // namespace

Status WriteProgram(const std::string& path, std::string_view content) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return ErrnoError(error.value(), "making the folder " + folder.string());
  const std::string temporary = folder / NewTemporaryName();
  Status status = Write(temporary, content);
  if (status.ok()) AwaitWriters(temporary);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) status = ErrnoError(errno, path);
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

}  // namespace autodist::files
