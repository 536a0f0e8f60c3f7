// libFuzzer: progress read from any output is plausible and of bounded size.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/utf8.h"
#include "fuzz/check.h"
#include "progress/progress_reader.h"

namespace {

using autodist::Check;
using autodist::progress::Pattern;
using autodist::progress::ProgressReader;
using autodist::progress::Time;

void CheckTold(const autodist::v1::Progress& reported) {
  constexpr int kMaxMetrics = 32;
  Check(reported.metrics_size() <= kMaxMetrics, "too many metrics");
  for (const autodist::v1::Metric& metric : reported.metrics()) {
    Check(!metric.name().empty() && autodist::base::IsUtf8(metric.name()), "a metric has no name");
  }
  Check(autodist::base::IsUtf8(reported.what()), "it is about what is no text");
  Check(!reported.has_total() || reported.step() <= reported.total(), "more steps than there are");
  Check(!reported.has_rate() || (std::isfinite(reported.rate()) && reported.rate() > 0),
        "a rate of nothing");
  Check(!reported.has_eta() || (std::isfinite(reported.eta()) && reported.eta() >= 0),
        "it has ended before");
}

}  // namespace

// Lines; the first byte of each says where it is written and how much later.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Pattern kPattern =
      *Pattern::Parse(R"((?P<epoch>\d+)?:(?P<step>\S+)/(?P<total>\S+) (?P<loss>\S+))");
  std::string_view text(reinterpret_cast<const char*>(data), size);
  ProgressReader reader;
  ProgressReader by_pattern(kPattern);
  Time now{};
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty()) continue;
    now += std::chrono::milliseconds(17) * (line[0] & 127);
    const std::string_view written = line.substr(1);
    for (const auto& reported :
         {line[0] & 1 ? reader.Take(written, now) : reader.TakeProgressLine(written, now),
          by_pattern.Take(written, now)}) {
      if (reported) CheckTold(*reported);
    }
  }
  return 0;
}
