// What a rank has as stdin, stdout and stderr, and our ends of it.
#pragma once

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::agent {

enum class RankStdin { kNull, kPipe, kTerminal };

struct RankStreams {
  struct Ends {
    base::UniqueFd in;  // invalid: /dev/null
    base::UniqueFd out;
    base::UniqueFd err;  // ours is invalid where it is the same as `out`
  };
  Ends ours;  // not blocking
  Ends ranks;

  // A terminal is one of the kernel's pseudo-terminals, for all three streams.
  static Result<RankStreams> Open(RankStdin kind);
};

}  // namespace autodist::agent
