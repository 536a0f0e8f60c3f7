// What the samples of GPUs say of what is wrong. Pure logic.
#pragma once

#include <optional>

#include "autodist/v1/board.pb.h"

namespace autodist::why {

// One of which the driver has told of an error.
std::optional<v1::Trouble> BrokenGpu(const v1::Board& board);
// The one whose clock is farthest below the others', where it has something to do.
std::optional<v1::Trouble> SlowGpu(const v1::Board& board);

}  // namespace autodist::why
