// Who is behind in a group of ranks, by what NCCL and PyTorch count: the collectives that each has
// entered. Pure logic.
#pragma once

#include <optional>

#include "autodist/v1/snapshot.pb.h"
#include "why/standing.h"

namespace autodist::why {

// Those that have entered another operation than most, or ranks that others wait for in a group and
// that wait for nobody themselves. nullopt: the counts do not say so, they have risen since the
// earlier look, or the latter are at work. `stands_still`: nothing goes on, so one look will do,
// and at work is too late.
std::optional<v1::Issue> BehindCause(const v1::JobSnapshot& snapshot, const Activities& ranks,
                                     bool stands_still);

}  // namespace autodist::why
