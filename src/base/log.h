// autodist's own messages to the user at the terminal: stderr, each line prefixed "autodist: ".
// What came from elsewhere cannot make the terminal obey it: see PrintableLines().
// Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::base {

enum class LogLevel { kInfo, kWarning, kError };

void Log(LogLevel level, std::string_view message);

// Whether the terminal is in raw mode, where a line feed alone begins no line at the left margin.
void SetRawTerminal(bool raw);

// The failure with its remedy, if it has one, as LogFailure tells it.
std::string FailureText(const Status& failure);

// The failure as an error.
void LogFailure(const Status& failure);

}  // namespace autodist::base
