// What samples of nodes and ranks say of processors that are too slow. Pure logic.
#pragma once

#include <optional>

#include "autodist/v1/board.pb.h"

namespace autodist::why {

// The rank that uses up the CPU time it may have, of several the one that is held back most.
// `before` may be null, here and below.
std::optional<v1::Trouble> LimitedCpu(const v1::Board& now, const v1::Board* before);
// A node whose cores another program takes, or a rank that gets none though it could run.
std::optional<v1::Trouble> CpuCause(const v1::Board& now, const v1::Board* before);

}  // namespace autodist::why
