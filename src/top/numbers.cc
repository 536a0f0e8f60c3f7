#include "top/numbers.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "base/quantity.h"
#include "base/wall_clock.h"

namespace autodist::top {
namespace {

constexpr double kMaxCounted = 1e15;  // larger values and NaN are printed as by printf

std::string Formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

std::string Short(double value) {
  if (!(std::abs(value) < kMaxCounted)) return Formatted("%.3g", value);
  if (value >= 99.95) return base::Thousands(static_cast<size_t>(std::llround(value)));
  return Formatted(value >= 9.995                  ? "%.1f"
                   : value >= 0.9995 || value == 0 ? "%.2f"
                                                   : "%.3f",
                   value);
}

std::string Relative(double value) {
  return Formatted(std::abs(value) < kMaxCounted ? "%.2f" : "%.3g", value);
}

std::string Whole(double value) {
  return Formatted(std::abs(value) < kMaxCounted ? "%.0f" : "%.3g", value);
}

std::string MetricText(double value) { return Formatted("%.4g", value); }

std::string Percent(double share) { return Whole(share * 100); }

std::string Span(int64_t milliseconds) {
  constexpr int64_t kSecond = 1000;
  return base::Elapsed(
      std::chrono::milliseconds(std::max<int64_t>(milliseconds, 0) / kSecond * kSecond));
}

std::string Clock(int64_t time_ms) { return base::LocalTime("%H:%M:%S", time_ms / 1000); }

std::string ClockMinute(int64_t time_ms) { return base::LocalTime("%H:%M", time_ms / 1000); }

std::string Speed(double bytes_per_second) {
  if (!(bytes_per_second >= 0 && bytes_per_second < kMaxCounted)) return "?";
  if (bytes_per_second < 1000) return "0 kB/s";
  return base::Bytes(static_cast<uint64_t>(bytes_per_second)) + "/s";
}

std::string Gigabytes(double bytes) { return Formatted("%.1f", bytes / 1e9); }

std::string BarText(double share, int columns) {
  const double clamped = share > 0 ? std::min(share, 1.0) : 0;  // NaN: 0
  const int halves = static_cast<int>(std::floor(clamped * columns * 2));
  std::string text;
  for (int i = 0; i < halves / 2; ++i) text += "━";
  if (halves % 2 == 1) text += "╸";
  return text;
}

uint32_t Level(double share) {
  if (!(share > 0.02)) return U' ';
  return U'▁' + static_cast<uint32_t>(std::min(share * 7, 6.0));
}

}  // namespace autodist::top
