#include "reach/own_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/shell_quote.h"
#include "reach/name_service.h"

namespace autodist::reach {
namespace {

namespace fs = std::filesystem;

Status Refusal(const std::string& what, const std::string& hint) {
  return WithRemedy(Error(StatusCode::kPermissionDenied, what), hint);
}

// `who`: the users that can write to the path.
Status OthersWrite(const fs::path& path, const std::string& who, uid_t owner) {
  const bool ours = owner == geteuid() || geteuid() == 0;  // only the owner and root change modes
  return Refusal(who + " can write to " + path.string(),
                 ours ? "run chmod go-w " + base::ShellQuote(path.string()) : "");
}

// Checks this path itself, without following links.
Status CheckOne(const fs::path& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return ErrnoError(errno, path.string());
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return Refusal(
        path.string() + " belongs to the user with the number " + std::to_string(info.st_uid), "");
  }
  const bool sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
  if (sticky || S_ISLNK(info.st_mode)) return OkStatus();  // the mode of a link has no meaning
  if ((info.st_mode & S_IWOTH) != 0) return OthersWrite(path, "all users", info.st_uid);
  if ((info.st_mode & S_IWGRP) != 0 && !IsGroupOfThisUser(info.st_gid)) {
    return OthersWrite(path, "the group with the number " + std::to_string(info.st_gid),
                       info.st_uid);
  }
  return OkStatus();
}

}  // namespace

Status CheckNoOthersWrite(const std::string& file) {
  std::error_code error;
  const fs::path target = fs::canonical(file, error);
  if (error) return ErrnoError(error.value(), file);
  const fs::path folder = fs::canonical(fs::absolute(file, error).parent_path(), error);
  if (error) return ErrnoError(error.value(), "the folder of " + file);
  const fs::path name = folder / fs::path(file).filename();
  for (const fs::path& path : {folder, name, target.parent_path(), target}) {
    AD_RETURN_IF_ERROR(CheckOne(path));
  }
  return OkStatus();
}

}  // namespace autodist::reach
