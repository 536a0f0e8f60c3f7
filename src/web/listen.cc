#include "web/listen.h"

#include <sys/stat.h>

#include "base/unix_socket.h"

namespace autodist::web {

Result<base::UniqueFd> ListenAtPath(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) == 0 && (!S_ISSOCK(info.st_mode) || base::HasListener(path))) {
    return Error(StatusCode::kAlreadyExists, path + " already exists");
  }
  return base::ListenAt(path);
}

}  // namespace autodist::web
