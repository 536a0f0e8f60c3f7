// Formats counts, byte sizes and times: "1 rank", "2 ranks"; "200 MB"; "0.3 s".
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace autodist::base {

inline std::string Count(size_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

// "65,280".
std::string Thousands(size_t number);

// Formats a byte count with two or three digits in decimal units.
std::string Bytes(uint64_t number);

// Formats a memory size in binary units, with a decimal from 1 MiB on: "512 bytes", "64 KiB", "4.0
// GiB".
std::string BinaryBytes(uint64_t number);

// "94.1 %"; `share`: 0 to 1.
inline std::string Percent(double share) {
  const long tenths = std::lround(share * 1000);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

// "0.3 s", "12 s": with a decimal below ten seconds.
inline std::string Seconds(std::chrono::milliseconds time) {
  const auto tenths = (time.count() + 50) / 100;
  std::string text = std::to_string(tenths / 10);
  if (tenths < 100 && tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text + " s";
}

// "0.3 s", "59 s", "2 min 31 s", "1 h 5 min", "3 d 4 h".
std::string Elapsed(std::chrono::milliseconds time);

// The same, but "0.35 s" below ten seconds.
std::string ExactlyElapsed(std::chrono::milliseconds time);

}  // namespace autodist::base
