// What the samples of nodes, GPUs and ranks say of what is wrong. Pure logic.
#pragma once

#include <optional>

#include "autodist/v1/board.pb.h"

namespace autodist::why {

// A rank that has failed, or is lost; else a node that is away.
std::optional<v1::Trouble> FailureCause(const v1::Board& board);

// A full disk, want of memory, a GPU, CPU or network that is slow or broken, the worst first. What
// may be so for a moment has to be so in both; `before` may be null. Adds to `ruled_out` what has
// been looked at and is well.
std::optional<v1::Trouble> ResourceCause(const v1::Board& now, const v1::Board* before,
                                         v1::Trouble& ruled_out);

}  // namespace autodist::why
