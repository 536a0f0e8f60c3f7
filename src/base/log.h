// autodist's own messages to the user at the terminal: stderr, each line prefixed "autodist: ".
// Control characters in text from other machines are escaped: see PrintableLines(). Thread-safe.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::base {

enum class LogLevel { kInfo, kWarning, kError };

void Log(LogLevel level, std::string_view message);

// Log calls this instead of WriteLog while another component owns the terminal; null restores
// WriteLog. It must not block, and must not call Log.
using LogWriter = std::function<void(LogLevel level, std::string_view message)>;
void SetLogWriter(LogWriter writer);
// Writes the message immediately.
void WriteLog(LogLevel level, std::string_view message);

// Turns colours on or off, wherever stderr goes. Default: on at a terminal that has colours, unless
// NO_COLOR is set (no-color.org).
void SetLogColour(bool coloured);

// Sets whether the terminal is in raw mode, where a line feed does not return to the left margin.
void SetRawTerminal(bool raw);

// Formats the failure with its hint, if it has one, as LogFailure prints it.
std::string FailureText(const Status& failure);

// Logs the failure as an error.
void LogFailure(const Status& failure);

// Logs warnings about what is tried again and again, each text once. Not thread-safe.
class WarningsOnce {
 public:
  void Warn(const std::string& text) {
    if (logged_.insert(text).second) Log(LogLevel::kWarning, text);
  }

 private:
  std::set<std::string> logged_;
};

}  // namespace autodist::base
