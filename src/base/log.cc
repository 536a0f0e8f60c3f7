#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "base/utf8.h"

namespace autodist::base {
namespace {

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

// "autodist: " for what is merely told, "autodist: warning: " and "autodist: error: " otherwise.
class Prefix : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    std::string_view prefix = "autodist: ";
    if (message.level == spdlog::level::warn) prefix = "autodist: warning: ";
    if (message.level == spdlog::level::err) prefix = "autodist: error: ";
    out.append(prefix.data(), prefix.data() + prefix.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<Prefix>();
  }
};

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>(
        "autodist", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<Prefix>('*').set_pattern("%^%*%$%v");
    made->set_formatter(std::move(formatter));
    return made;
  }();
  return *logger;
}

}  // namespace

void Log(LogLevel level, std::string_view message) {
  const std::string shown = PrintableLines(message);
  Logger().log(LevelOf(level), spdlog::string_view_t(shown.data(), shown.size()));
}

std::string FailureText(const Status& failure) {
  const std::string remedy = Remedy(failure);
  return Message(failure) + (remedy.empty() ? "" : "\n    to do: " + remedy);
}

void LogFailure(const Status& failure) { Log(LogLevel::kError, FailureText(failure)); }

}  // namespace autodist::base
