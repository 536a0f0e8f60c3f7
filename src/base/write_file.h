// Writing a file so that it is there whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::base {

enum class IfExists { kRefuse, kReplace };

// kAlreadyExists where there is something.
Status CheckNothingAt(const std::string& path);

// Writes beside `path` and moves that there. kAlreadyExists where there is something and it is not
// to be replaced. Blocks on the disk.
Status WriteFile(const std::string& path, std::string_view content, IfExists if_exists);

}  // namespace autodist::base
