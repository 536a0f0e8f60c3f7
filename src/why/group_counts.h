// Finds ranks that are behind in a group, by the counts of entered collectives that NCCL and
// PyTorch keep. Pure logic.
#pragma once

#include <optional>

#include "autodist/v1/snapshot.pb.h"
#include "why/standing.h"

namespace autodist::why {

// Finds ranks that entered another operation than most, or that others wait for in one group while
// they wait in none. nullopt: the counts do not show this, or they have risen since the earlier
// sample, or these ranks are at work. `stalled`: the job is known to be stalled, so one sample
// is enough, and ranks at work count too.
std::optional<v1::Issue> BehindCause(const v1::JobSnapshot& snapshot, const Activities& ranks,
                                     bool stalled);

}  // namespace autodist::why
