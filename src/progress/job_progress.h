// Combines the progress of the ranks into that of the job.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::progress {

// Subject and metrics come from the first rank with the most information; steps, rate and time come
// from the slowest of the ranks with as much. Absent: no rank reports progress.
std::optional<v1::Progress> OfJob(const std::map<uint32_t, v1::Progress>& ranks);

}  // namespace autodist::progress
