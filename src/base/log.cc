#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include "base/utf8.h"

namespace autodist::base {
namespace {

std::atomic<bool> raw_terminal = false;

// The name of the logger is the prefix of the line; at a terminal it has the colour of the level.
const std::shared_ptr<spdlog::sinks::stderr_color_sink_mt>& Stderr() {
  static const auto sink = [] {
    auto made = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
    made->set_pattern("%^%n%$%v");
    // Not the default green, which would suggest success.
    made->set_color(spdlog::level::info, made->bold);
    const char* const no_color = std::getenv("NO_COLOR");
    if (no_color != nullptr && *no_color != '\0') made->set_color_mode(spdlog::color_mode::never);
    return made;
  }();
  return sink;
}

// Adds a carriage return to each line, also to the last, whose line feed spdlog writes.
std::string WithCarriageReturns(std::string_view text) {
  std::string lines;
  for (const char c : text) lines += c == '\n' ? "\r\n" : std::string(1, c);
  return lines + "\r";
}

std::mutex writer_mutex;
LogWriter writer;  // guarded by writer_mutex

}  // namespace

void SetRawTerminal(bool raw) { raw_terminal = raw && isatty(STDERR_FILENO) == 1; }

void Log(LogLevel level, std::string_view message) {
  {
    const std::lock_guard lock(writer_mutex);
    if (writer) return writer(level, message);
  }
  WriteLog(level, message);
}

void SetLogWriter(LogWriter to) {
  const std::lock_guard lock(writer_mutex);
  writer = std::move(to);
}

void SetLogColour(bool coloured) {
  Stderr()->set_color_mode(coloured ? spdlog::color_mode::always : spdlog::color_mode::never);
}

void WriteLog(LogLevel level, std::string_view message) {
  std::string shown = PrintableLines(message);
  if (raw_terminal) shown = WithCarriageReturns(shown);
  const spdlog::string_view_t text(shown.data(), shown.size());
  switch (level) {
    case LogLevel::kInfo:
      return spdlog::logger("autodist: ", Stderr()).info(text);
    case LogLevel::kWarning:
      return spdlog::logger("autodist: warning: ", Stderr()).warn(text);
    case LogLevel::kError:
      return spdlog::logger("autodist: error: ", Stderr()).error(text);
  }
}

std::string FailureText(const Status& failure) {
  const std::string remedy = Remedy(failure);
  return Message(failure) + (remedy.empty() ? "" : "\n    hint: " + remedy);
}

void LogFailure(const Status& failure) { Log(LogLevel::kError, FailureText(failure)); }

}  // namespace autodist::base
