// A duration in words.
#pragma once

#include <chrono>
#include <string>

namespace autodist::base {

// "0.3 s", "12 s": with a decimal below ten seconds.
inline std::string Seconds(std::chrono::milliseconds time) {
  const auto tenths = (time.count() + 50) / 100;
  std::string text = std::to_string(tenths / 10);
  if (tenths < 100 && tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text + " s";
}

}  // namespace autodist::base
