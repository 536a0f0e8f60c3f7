// The ranks whose output is shown: the argument of --show.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"

namespace autodist::display {

// A process of a job, with the values that its output needs.
struct Process {
  uint32_t rank = 0;  // of the process
  uint32_t local_rank = 0;
  std::string node;  // address in the spec
  bool auxiliary = false;
};

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

}  // namespace autodist::display
