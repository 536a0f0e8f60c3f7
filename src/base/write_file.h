// Writing a file so that it is there whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::base {

enum class IfExists { kRefuse, kReplace };

// Who may read the file. kUsual is what the shell's '>' would give.
enum class Readers { kUsual, kOwner };

// kAlreadyExists where there is something.
Status CheckNothingAt(const std::string& path);

// Writes beside `path` and moves that there. kAlreadyExists where there is something and it is not
// to be replaced. Blocks on the disk.
Status WriteFile(const std::string& path, std::string_view content, IfExists if_exists,
                 Readers readers = Readers::kUsual);
// Does the same in the folder behind this descriptor.
Status WriteFileIn(int folder, const std::string& name, std::string_view content,
                   IfExists if_exists, Readers readers);

}  // namespace autodist::base
