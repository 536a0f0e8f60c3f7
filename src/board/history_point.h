// What is kept of a job as it is now.
#pragma once

#include <cstdint>

#include "autodist/v1/board.pb.h"

namespace autodist::board {

// Pure. `width_ms`: since the point before.
v1::HistoryPoint PointOf(const v1::Board& board, int64_t width_ms);

}  // namespace autodist::board
