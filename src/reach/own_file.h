// Whether other users decide what a file says.
#pragma once

#include <string>

#include "autodist/status.h"

namespace autodist::reach {

// Refuses a file that other users than this one and root own, can write to, or can replace: the
// file itself, the folder it is in, and where it is a symbolic link, its target and that one's
// folder. A group that is this user's alone is no other user; in a folder with the sticky bit, as
// /tmp, others cannot replace what is not theirs. Message without the file's name. May block as
// ThisSystemUser does.
Status CheckNoOthersWrite(const std::string& file);

}  // namespace autodist::reach
