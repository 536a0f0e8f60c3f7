#include "agent/prepare/file_facts.h"

#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "files/digest.h"

namespace autodist::agent {
namespace {

constexpr size_t kLargestWord = 256;  // bytes
constexpr char kSharedPrefix[] = ".autodist-";
constexpr char kNcclLibrary[] = "libnccl.so.2";
constexpr const char* kLibraryFolders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64",
                                           "/usr/local/cuda/lib64", "/usr/lib"};

// Refuses anything but a regular file, because a FIFO or a device may block forever.
Result<base::UniqueFd> OpenFile(const std::string& path) {
  base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return ErrnoError(errno, path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoError(errno, path);
  if (!S_ISREG(info.st_mode)) {
    return Error(StatusCode::kInvalidArgument, path + ": not a regular file");
  }
  return fd;
}

bool IsWord(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  });
}

Result<std::string> ReadWord(const std::string& path) {
  if (!std::string_view(path).substr(path.rfind('/') + 1).starts_with(kSharedPrefix)) {
    return Error(StatusCode::kPermissionDenied,
                 path + ": not a file of autodist's, which begin with " + kSharedPrefix);
  }
  AD_ASSIGN_OR_RETURN(const base::UniqueFd fd, OpenFile(path));
  std::array<char, kLargestWord + 2> buffer;  // a line break, and one byte to see that it is larger
  const ssize_t got = read(fd.get(), buffer.data(), buffer.size());
  if (got < 0) return ErrnoError(errno, path);
  std::string_view text(buffer.data(), static_cast<size_t>(got));
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.size() > kLargestWord || !IsWord(text)) {
    return Error(StatusCode::kInvalidArgument, path + ": holds something else than a word");
  }
  return std::string(text);
}

v1::FileFact FactOf(const Result<std::string>& digest) {
  v1::FileFact fact;
  if (digest.ok()) {
    fact.set_digest(*digest);
  } else {
    fact.set_error(Message(digest.status()));
  }
  return fact;
}

Result<std::string> Digest(const std::string& path, base::Deadline deadline) {
  AD_ASSIGN_OR_RETURN(const base::UniqueFd fd, OpenFile(path));
  auto digest = files::DigestOfContent(fd.get(), path, [deadline] { return !deadline.Expired(); });
  if (digest.status().code() == StatusCode::kCancelled) {
    return Error(StatusCode::kDeadlineExceeded, path + ": reading it takes too long");
  }
  return digest;
}

}  // namespace

v1::FileFact DigestFact(const std::string& path, base::Deadline deadline) {
  return FactOf(Digest(path, deadline));
}

v1::FileFact SharedFileFact(const std::string& path) { return FactOf(ReadWord(path)); }

v1::DiskFact DiskFactOf(const std::string& folder) {
  v1::DiskFact fact;
  struct statvfs info;
  if (statvfs(folder.c_str(), &info) != 0) {
    fact.set_error(std::strerror(errno));
    return fact;
  }
  fact.set_size(static_cast<uint64_t>(info.f_blocks) * info.f_frsize);
  fact.set_free(static_cast<uint64_t>(info.f_bavail) * info.f_frsize);
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    fact.set_error(std::string("not writable: ") + std::strerror(errno));
  }
  return fact;
}

std::string NcclVersion(const std::string& library_path, const std::string& working_directory) {
  std::vector<std::string> folders;
  if (!library_path.empty()) folders = absl::StrSplit(library_path, absl::ByAnyChar(":;"));
  folders.insert(folders.end(), std::begin(kLibraryFolders), std::end(kLibraryFolders));
  for (const std::string& folder : folders) {
    std::error_code error;
    const auto real = std::filesystem::canonical(
        std::filesystem::path(working_directory) / folder / kNcclLibrary, error);
    if (error) continue;
    const std::string name = real.filename();
    const std::string_view prefix = std::string_view(kNcclLibrary).substr(0, 11);  // "libnccl.so."
    const bool has_version = name.starts_with(prefix) && name != kNcclLibrary;
    return has_version ? name.substr(prefix.size()) : "";
  }
  return "";
}

}  // namespace autodist::agent
