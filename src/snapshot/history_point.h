// What is kept of a job as it is now.
#pragma once

#include <cstdint>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::snapshot {

// Pure. `width_ms`: since the point before.
v1::HistoryPoint PointOf(const v1::JobSnapshot& snapshot, int64_t width_ms);

}  // namespace autodist::snapshot
