// The stdin, stdout and stderr of a rank, and our ends of them.
#pragma once

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::agent {

enum class RankStdin { kNull, kPipe, kTerminal };

struct RankStreams {
  struct Ends {
    base::UniqueFd in;  // invalid: /dev/null
    base::UniqueFd out;
    base::UniqueFd err;  // ours is invalid if `out` has both streams
  };
  Ends ours;  // non-blocking
  Ends ranks;

  // With a terminal, all three streams are one pseudo-terminal.
  static Result<RankStreams> Open(RankStdin kind);
};

}  // namespace autodist::agent
