// Extracts a history point from a snapshot.
#pragma once

#include <cstdint>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::snapshot {

// Pure. `width_ms`: time since the previous point.
v1::HistoryPoint PointOf(const v1::JobSnapshot& snapshot, int64_t width_ms);

}  // namespace autodist::snapshot
