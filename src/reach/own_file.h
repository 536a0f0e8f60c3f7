// Checks whether other users can change a file.
#pragma once

#include <string>

#include "autodist/status.h"

namespace autodist::reach {

// Rejects a file that users other than this one and root own, can write to, or can replace. Checks
// the file, its folder, and for a symbolic link also the target and the target's folder. This
// user's private group does not count as another user. In a folder with the sticky bit, such as
// /tmp, others cannot replace the file. The message names the path that is not this user's alone;
// its hint removes the permission, if this user can. May block like ThisSystemUser.
Status CheckNoOthersWrite(const std::string& file);

}  // namespace autodist::reach
