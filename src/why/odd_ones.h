// Who does something else than most, where no collective is recognised. Pure logic.
#pragma once

#include <optional>

#include "autodist/v1/snapshot.pb.h"
#include "why/standing.h"

namespace autodist::why {

// Of ranks that stand still, of which most only wait: by what the others do, or else by where.
std::optional<v1::Issue> OddOnes(const v1::JobSnapshot& snapshot, const Ranks& ranks);

// Ranks with GPUs seem to compute where they wait for these, as in NCCL's collectives: who rests
// elsewhere meanwhile.
std::optional<v1::Issue> OddAmongGpus(const v1::JobSnapshot& snapshot, const Activities& ranks);

}  // namespace autodist::why
