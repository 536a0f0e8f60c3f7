// Durations as people write them: "90", "1.5h", "1h30m", "10 min", "2d".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace autodist::base {

inline constexpr double kSecondsPerDay = 86'400;

// Returns seconds. A number alone is in seconds; several numbers with units are added. Units are
// ms, s, m, h, d and w, and their usual longer names, in any case. nullopt: not a duration.
std::optional<double> ParseDuration(std::string_view text);

// Returns the shortest text that ParseDuration parses to this value: "10m", "1h30m", "0.5s".
// `seconds` is finite and not negative.
std::string DurationText(double seconds);

inline std::chrono::milliseconds ToMilliseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(seconds));
}

}  // namespace autodist::base
