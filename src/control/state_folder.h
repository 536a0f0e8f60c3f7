// The folder in which autodist keeps what it remembers of this user.
#pragma once

#include <string>

#include "autodist/status.h"

namespace autodist::control {

inline constexpr char kAnotherStateFolder[] =
    "name a folder that you can write to, for all commands: export XDG_STATE_HOME=FOLDER";

// The first of these that can be written to, which is the same in each command:
// $XDG_STATE_HOME/autodist, ~/.local/state/autodist, or a folder in /tmp. Some users, as in a
// container, have no home folder or cannot write to it. kNotFound: none.
Result<std::string> StateFolder();

// Makes the folder, which is StateFolder or below it. Private to the user.
Status MakeStateFolder(const std::string& path);

}  // namespace autodist::control
