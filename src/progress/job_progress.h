// A job's progress, of what its ranks tell.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::progress {

// Of the ranks that tell any. What it is about and its metrics are those of the rank that tells
// most, the first one of these; steps, rate and time those of the one that is the least far of all
// that tell in the same way. Absent: none tells anything.
std::optional<v1::Progress> OfJob(const std::map<uint32_t, v1::Progress>& ranks);

}  // namespace autodist::progress
