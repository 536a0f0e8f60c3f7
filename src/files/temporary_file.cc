#include "files/temporary_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/folder_entries.h"
#include "base/random.h"

namespace autodist::files {
namespace {

constexpr std::string_view kPrefix = ".autodist-sync-";

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

}  // namespace autodist::files
