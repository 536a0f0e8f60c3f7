// autodist's own messages to the user at the terminal: stderr, each line prefixed "autodist: ".
// What came from elsewhere cannot make the terminal obey it: see PrintableLines().
// Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::base {

enum class LogLevel { kInfo, kWarning, kError };

void Log(LogLevel level, std::string_view message);

// Where somebody else speaks to the terminal, Log calls it in place of WriteLog; null: no longer.
// It must not block, and not call Log.
using LogWriter = std::function<void(LogLevel level, std::string_view message)>;
void SetLogWriter(LogWriter writer);
// Writes the message at once.
void WriteLog(LogLevel level, std::string_view message);

// In colours or without, wherever stderr goes. Without this call: at a terminal that has colours,
// unless NO_COLOR is set (no-color.org).
void SetLogColour(bool coloured);

// Whether the terminal is in raw mode, where a line feed alone begins no line at the left margin.
void SetRawTerminal(bool raw);

// The failure with its remedy, if it has one, as LogFailure tells it.
std::string FailureText(const Status& failure);

// The failure as an error.
void LogFailure(const Status& failure);

}  // namespace autodist::base
