// Converts a job's snapshot to metrics.
#pragma once

#include <cstdint>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "metrics/family.h"

namespace autodist::metrics {

// Pure. `now_ms`: since 1970. Unknown values have no sample, such as those of an unreachable node
// or an ended rank.
std::vector<Family> MetricsOf(const v1::JobSnapshot& snapshot, int64_t now_ms);

}  // namespace autodist::metrics
