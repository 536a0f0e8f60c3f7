// The prefixes of ranks' lines: "[node:rank] ", and the time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/wall_clock.h"
#include "display/screen.h"
#include "display/shown_ranks.h"

namespace autodist::display {

enum class PrefixStyle {
  kNone,
  kRank,  // "[3] "
  kNode,  // "[node1:3] "
  kTime,  // "[14:03:21 node1:3] "
};

// Not thread-safe.
class Prefixes {
 public:
  // Omits a common domain of the host names, such as in "gpu1.example.org". On a terminal, pads all
  // to the same length and, if colored, gives each node its own color. Time stamps come first:
  // "2026-11-23T14:03:21.250+01:00 ".
  Prefixes(PrefixStyle style, const std::vector<Process>& processes,
           const std::array<Style, 2>& looks, bool time_stamps);

  // Valid until the next call. `time`: of the line, if known.
  std::string_view Of(uint32_t rank, Stream stream, std::optional<base::WallTime> time);

 private:
  struct Parts {
    std::string begin;  // before the time
    std::string end;
  };
  const std::string& TimeText(base::WallTime time);

  const PrefixStyle style_;
  const bool time_stamps_;
  std::map<uint32_t, std::array<Parts, 2>> parts_;
  std::string of_;
  std::optional<base::WallTime> time_;  // cached: many lines have the same time
  std::string time_text_;
};

}  // namespace autodist::display
