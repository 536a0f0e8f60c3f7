// The ranks whose output is shown, and what is written before their lines.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "base/wall_clock.h"
#include "display/screen.h"

namespace autodist::display {

// A process of a job, with the values that its output needs.
struct Process {
  uint32_t rank = 0;  // of the process
  uint32_t local_rank = 0;
  std::string node;  // address in the spec
  bool auxiliary = false;
};

// The argument of --show.
class ShownRanks {
 public:
  ShownRanks() = default;  // all

  // "0", "0,8-15", "local0", "node:gpu3", combinations, "all" or "none". kInvalidArgument: quotes
  // the invalid part.
  static Result<ShownRanks> Parse(std::string_view text);

  static ShownRanks Of(const std::vector<uint32_t>& ranks);

  bool all() const { return parts_.empty() && !none_; }
  bool Shows(const Process& process) const;
  // Fails unless all named ranks and nodes are among the processes.
  Status CheckAgainst(const std::vector<Process>& processes) const;

 private:
  struct Part {
    enum Kind { kRanks, kLocalRanks, kNode } kind = kRanks;
    uint32_t first = 0;
    uint32_t last = 0;
    std::string node;
    std::string text;  // as typed
  };
  static Result<Part> ParsePart(std::string_view text);
  static bool Matches(const Part& part, const Process& process);

  bool none_ = false;
  std::vector<Part> parts_;
};

// The prefixes of ranks' lines: "[node:rank] ", and the time.
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
