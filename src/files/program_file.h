// Programs that are put into a folder of the user's, to be run from there.
#pragma once

#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::files {

// Makes `path` a program that the user alone may run, and the folders on its way. Whoever finds it
// under its name, at whatever time, finds all of it, and can run it: nobody has it open for writing
// any more. Thread-safe; blocks on the disk.
Status WriteProgram(const std::string& path, std::string_view content);

}  // namespace autodist::files
