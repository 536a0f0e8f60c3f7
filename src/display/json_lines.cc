#include "display/json_lines.h"

#include <chrono>

#include "base/json_quote.h"
#include "base/utf8.h"

namespace autodist::display {

std::string OutputAsJson(const Process& process, Stream stream, std::optional<base::WallTime> time,
                         std::string_view text) {
  using std::chrono::milliseconds;
  const auto since_1970 = [](base::WallTime at) {
    return std::chrono::duration_cast<milliseconds>(at.time_since_epoch()).count();
  };
  return "{\"type\":\"output\",\"time_ms\":" + (time ? std::to_string(since_1970(*time)) : "null") +
         ",\"rank\":" + std::to_string(process.rank) +
         ",\"node\":" + base::JsonQuoted(base::ToUtf8(process.node)) + ",\"stream\":\"" +
         (stream == kStdout ? "stdout" : "stderr") +
         "\",\"text\":" + base::JsonQuoted(base::ToUtf8(text)) + "}";
}

}  // namespace autodist::display
