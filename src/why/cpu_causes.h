// What samples of nodes and ranks say of processors that are too slow. Pure logic.
#pragma once

#include <optional>

#include "autodist/v1/board.pb.h"

namespace autodist::why {

// A rank that uses up the CPU time that it may have, a node whose cores another program takes, a
// rank that gets none though it could run. `before` may be null.
std::optional<v1::Trouble> CpuCause(const v1::Board& now, const v1::Board* before);

}  // namespace autodist::why
