// Wall-clock time, for display and for comparison between machines. To measure durations, see
// deadline.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

namespace autodist::base {

using WallTime = std::chrono::system_clock::time_point;

inline int64_t NanosecondsSince1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

inline int64_t MillisecondsSince1970() { return NanosecondsSince1970() / 1'000'000; }

// Formats the local time as strftime(3) does; 63 characters at most.
inline std::string LocalTime(const char* format, std::time_t time = std::time(nullptr)) {
  std::tm local{};
  localtime_r(&time, &local);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &local)};
}

// The same in UTC; "" for a time whose year is too large.
inline std::string UtcTime(const char* format, std::time_t time = std::time(nullptr)) {
  std::tm utc{};
  if (!gmtime_r(&time, &utc)) return "";
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &utc)};
}

}  // namespace autodist::base
