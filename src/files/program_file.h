// Programs that autodist puts into a folder of the user and runs from there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::files {

// Whether `path` is an executable program of that size that only this user and root can replace:
// all folders on its path, with links resolved, belong to them, and others cannot write to them.
// The size differs if a power failure truncated the file.
bool HoldsProgram(const std::string& path, uint64_t size);

// Writes a program that only the user may run, and creates missing folders on its path. The file is
// always complete and executable under its name: no process has it open for writing any more.
// kPermissionDenied if others could replace it. Thread-safe; blocks on the disk.
Status WriteProgram(const std::string& path, std::string_view content);

}  // namespace autodist::files
