#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "base/utf8.h"

namespace autodist::base {
namespace {

// The prefix of a line is the name of its logger; at a terminal it has the colour of the level.
const spdlog::sink_ptr& Stderr() {
  static const spdlog::sink_ptr sink = [] {
    auto made = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
    made->set_pattern("%^%n%$%v");
    return made;
  }();
  return sink;
}

}  // namespace

void Log(LogLevel level, std::string_view message) {
  const std::string shown = PrintableLines(message);
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
  return Message(failure) + (remedy.empty() ? "" : "\n    to do: " + remedy);
}

void LogFailure(const Status& failure) { Log(LogLevel::kError, FailureText(failure)); }

}  // namespace autodist::base
