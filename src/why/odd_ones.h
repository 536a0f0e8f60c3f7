// Finds the ranks that a standstill is due to by comparing ranks, for when no collective is
// recognized. Pure logic.
#pragma once

#include <optional>

#include "autodist/v1/snapshot.pb.h"
#include "why/standing.h"

namespace autodist::why {

// Finds ranks that differ from most, for when no collective is recognized. For ranks that stand
// still while most only wait: compares what they do, otherwise where they are. A warning: they wait
// for a service. `stalled`: the job is known to be stalled.
std::optional<v1::Issue> OddOnes(const v1::JobSnapshot& snapshot, const Activities& ranks,
                                 bool stalled);

// Ranks seem to compute while they wait for their GPUs, as in NCCL's collectives. Finds ranks that
// rest elsewhere meanwhile; otherwise as above.
std::optional<v1::Issue> OddAmongGpus(const v1::JobSnapshot& snapshot, const Activities& ranks,
                                      bool stalled);

}  // namespace autodist::why
