#include "base/quantity.h"

#include <cstdio>

namespace autodist::base {

std::string Thousands(size_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string Bytes(uint64_t number) {
  constexpr double kNextUnit = 999.5;  // would be formatted as 1000
  constexpr double kTwoDigits = 9.95;  // would be formatted as 10
  if (number < 1000) return Count(number, "byte");
  double value = static_cast<double>(number) / 1000;
  const char* unit = "kMGTPE";
  while (value >= kNextUnit) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %cB", value < kTwoDigits ? 1 : 0, value, *unit);
  return text;
}

std::string BinaryBytes(uint64_t number) {
  constexpr double kNextUnit = 1023.95;  // would be formatted as 1024.0
  constexpr uint64_t kKibi = 1024;
  if (number > 0 && number < kKibi) return Count(number, "byte");
  if (number < kKibi * kKibi) return std::to_string(number / kKibi) + " KiB";
  const uint64_t kibibytes = number / kKibi;
  double value = static_cast<double>(kibibytes) / kKibi;
  const char* unit = "MGTPE";
  while (value >= kNextUnit) {
    value /= kKibi;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %ciB", value, *unit);
  return text;
}

std::string Elapsed(std::chrono::milliseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  const auto pair = [](auto large, const char* unit, auto small, const char* small_unit) {
    return std::to_string(large) + " " + unit + " " + std::to_string(small) + " " + small_unit;
  };
  constexpr int64_t kMinute = 60;
  constexpr int64_t kHour = 60 * kMinute;
  constexpr int64_t kDay = 24 * kHour;
  if (seconds < kMinute) return Seconds(time);
  if (seconds < kHour) return pair(seconds / kMinute, "min", seconds % kMinute, "s");
  if (seconds < kDay) return pair(seconds / kHour, "h", seconds % kHour / kMinute, "min");
  return pair(seconds / kDay, "d", seconds % kDay / kHour, "h");
}

std::string ExactlyElapsed(std::chrono::milliseconds time) {
  if (time.count() >= 10'000) return Elapsed(time);
  char text[32];
  std::snprintf(text, sizeof text, "%.2f s", static_cast<double>(time.count()) / 1e3);
  return text;
}

}  // namespace autodist::base
