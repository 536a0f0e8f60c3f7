// Writes files atomically.
#pragma once

#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::base {

enum class IfExists { kRefuse, kReplace };

// The permissions of the file. kUsual is what the shell's '>' gives.
enum class Readers { kUsual, kOwner };

// kAlreadyExists: the path exists.
Status CheckNothingAt(const std::string& path);

// Writes a temporary file beside `path` and renames it. kAlreadyExists if the path exists and must
// not be replaced. Blocks on the disk.
Status WriteFile(const std::string& path, std::string_view content, IfExists if_exists,
                 Readers readers = Readers::kUsual);
// The same in the folder of this descriptor.
Status WriteFileIn(int folder, const std::string& name, std::string_view content,
                   IfExists if_exists, Readers readers);

}  // namespace autodist::base
