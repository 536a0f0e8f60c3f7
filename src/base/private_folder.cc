#include "base/private_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace autodist::base {

bool IsPrivateFolder(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & 077) == 0;
}

Status MakePrivateFolder(const std::string& path, std::string_view remedy) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoError(errno, "making the folder " + path);
  }
  if (IsPrivateFolder(path)) return OkStatus();
  return WithRemedy(Error(StatusCode::kPermissionDenied,
                          path + " exists but is not a private folder of this user"),
                    remedy);
}

}  // namespace autodist::base
