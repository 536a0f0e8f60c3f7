// autodist's own messages to the person at the terminal: stderr, each line prefixed "autodist: ".
// Thread-safe.
#pragma once

#include <string_view>

namespace autodist::base {

enum class LogLevel { kInfo, kWarning, kError };

void Log(LogLevel level, std::string_view message);

}  // namespace autodist::base
