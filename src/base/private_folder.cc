#include "base/private_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/home_folder.h"
#include "base/host_name.h"
#include "base/shell_quote.h"

namespace autodist::base {
namespace {

constexpr int kMaxFolderTries = 10;  // other processes may remove the folder meanwhile

}  // namespace

bool IsPrivateFolder(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & 077) == 0;
}

Status MakePrivateFolder(const std::string& path, std::string_view remedy) {
  // Another process may remove it between the two calls, since its last user does so.
  for (int tries = 0; tries < kMaxFolderTries; ++tries) {
    if (mkdir(path.c_str(), 0700) == 0) return OkStatus();
    if (errno != EEXIST) return ErrnoError(errno, "making the folder " + path);
    if (IsPrivateFolder(path)) return OkStatus();
    if (access(path.c_str(), F_OK) == 0) break;
  }
  return WithRemedy(Error(StatusCode::kPermissionDenied,
                          path + " exists but is not a private folder of this user"),
                    remedy);
}

Status CheckOnlyWeCanChange(const std::string& folder) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::canonical(folder, error);
  if (error) return ErrnoError(error.value(), "the folder " + folder);
  for (bool is_last = true;; is_last = false, path = path.parent_path()) {
    struct stat info;
    if (lstat(path.c_str(), &info) != 0) return ErrnoError(errno, "the folder " + path.string());
    const bool ours = info.st_uid == geteuid() || info.st_uid == 0;
    const bool can_change = info.st_uid == geteuid() || geteuid() == 0;  // the mode
    const bool open = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    const bool sticky = (info.st_mode & S_ISVTX) != 0 && !is_last;
    if (!ours || (open && !sticky)) {
      return WithRemedy(
          Error(StatusCode::kPermissionDenied,
                path.string() + (ours ? ": others can write in it" : ": another user owns it")),
          ours && can_change ? "chmod go-w " + ShellQuote(path.string()) : "");
    }
    if (path == path.root_path()) return OkStatus();
  }
}

Result<UniqueFd> OpenOwnFile(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string folder = file.parent_path();
  const UniqueFd place(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info;
  if (!place.valid() || fstat(place.get(), &info) != 0) return ErrnoError(errno, folder);
  if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error(StatusCode::kPermissionDenied,
                 folder + " is not used: another user owns or can write to it");
  }
  UniqueFd fd(openat(place.get(), file.filename().c_str(),
                     O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return ErrnoError(errno, path);
  if (!S_ISREG(info.st_mode)) return Error(StatusCode::kNotFound, path + " is no file");
  return fd;
}

Result<std::string> ReadOwnFile(const std::string& path, size_t limit) {
  AD_ASSIGN_OR_RETURN(const UniqueFd fd, OpenOwnFile(path));
  return ReadWhole(fd.get(), path, limit);
}

std::vector<std::string> SocketFolders(const std::string& what) {
  std::vector<std::string> folders = {"/tmp/autodist-" + what + std::to_string(geteuid())};
  const std::string home = HomeFolder();
  const std::string host = HostName();
  if (!home.empty() && !host.empty()) {
    // Without the domain: the path of a socket has 107 bytes at most.
    folders.push_back(home + "/.cache/autodist/" + what + "on-" + host.substr(0, host.find('.')));
  }
  return folders;
}

bool CanBePrivateFolder(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) == 0) return IsPrivateFolder(path);
  return errno == ENOENT && access(path.substr(0, path.rfind('/')).c_str(), W_OK) == 0;
}

void MakeFoldersAbove(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0700);
  }
}

Status MakeSocketFolder(const std::string& path) {
  MakeFoldersAbove(path);
  return MakePrivateFolder(path, "remove it, or make it a folder of yours with mode 0700");
}

}  // namespace autodist::base
