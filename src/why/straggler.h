// Finds the rank that the others wait for in each step of a running job. Pure logic.
#pragma once

#include <optional>

#include "autodist/v1/snapshot.pb.h"
#include "why/standing.h"

namespace autodist::why {

// Compares what the main threads computed between two samples. Ranks in the same steps need the
// same CPU time, so the others wait for one that needs more, even on busy machines. nullopt: no
// outlier, or unknown because GPUs compute, not the main threads.
std::optional<v1::Issue> StragglerCause(const v1::JobSnapshot& snapshot, const Activities& ranks);

}  // namespace autodist::why
