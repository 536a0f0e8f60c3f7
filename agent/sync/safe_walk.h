// Opens a folder safely on a machine where other users may have created parts of the path.
#pragma once

#include <string>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::agent {

struct ReachedFolder {
  base::UniqueFd fd;  // O_PATH
  bool made = false;  // whether it was created; then with mode 0700
};

// Walks the absolute path from /, and creates missing folders. Follows symbolic links. Like the
// kernel's protected_symlinks, but also for folders: in a world-writable sticky folder, such as
// /tmp, only enters or follows entries that belong to this user, to root or to the owner of that
// folder; otherwise kPermissionDenied. Blocks on the file system.
Result<ReachedFolder> ReachFolder(const std::string& path);

}  // namespace autodist::agent
