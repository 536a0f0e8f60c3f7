// What stands before the lines of ranks: "[node:rank] ".
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

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
  // Names of hosts that end alike, "gpu1.example.org" say, are written without that end. On a
  // terminal all are as long, and with colours each node has its own.
  Prefixes(PrefixStyle style, const std::vector<Process>& processes,
           const std::array<Look, 2>& looks);

  // Until the next call.
  std::string_view Of(uint32_t rank, Stream stream);

 private:
  struct Parts {
    std::string begin;  // before the time
    std::string end;
  };
  const PrefixStyle style_;
  std::map<uint32_t, std::array<Parts, 2>> parts_;
  std::string of_;
};

}  // namespace autodist::display
