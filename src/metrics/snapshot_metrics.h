// A job's snapshot as metrics.
#pragma once

#include <cstdint>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "metrics/family.h"

namespace autodist::metrics {

// Pure. `now_ms`: since 1970. What is not known has no sample: of a node that is away, of a rank
// that has ended.
std::vector<Family> MetricsOf(const v1::JobSnapshot& snapshot, int64_t now_ms);

}  // namespace autodist::metrics
