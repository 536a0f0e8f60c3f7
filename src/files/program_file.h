// Programs that are put into a folder of the user's, to be run from there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::files {

// Whether `path` is a program of that size that can be run, and nobody but this user and root can
// put another one into its place: all folders that lead there, links resolved, are theirs, and
// others cannot write in them. One that was cut off, by a machine that lost power, has another
// size.
bool HoldsProgram(const std::string& path, uint64_t size);

// Makes `path` a program that the user alone may run, and the folders on its way. Whoever finds it
// under its name, at whatever time, finds all of it, and can run it: nobody has it open for writing
// any more. kPermissionDenied where others could replace it. Thread-safe; blocks on the disk.
Status WriteProgram(const std::string& path, std::string_view content);

}  // namespace autodist::files
