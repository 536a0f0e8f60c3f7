// The way to a folder, where other users of the machine may have put something into it.
#pragma once

#include <string>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::agent {

struct ReachedFolder {
  base::UniqueFd fd;  // O_PATH
  bool made = false;  // the folder itself; it is for the user alone
};

// Walks the absolute path from / on, and makes what is missing. Symbolic links are followed. As
// the kernel's protected_symlinks, but for folders, too: in a folder that everyone can write in and
// that is sticky, such as /tmp, only what belongs to this user, to root or to the owner of that
// folder is entered or followed; kPermissionDenied otherwise. Blocks on the file system.
Result<ReachedFolder> ReachFolder(const std::string& path);

}  // namespace autodist::agent
