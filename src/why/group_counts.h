// Finds ranks that are behind: in a group, by the counts of entered collectives that NCCL and
// PyTorch keep, or in the steps of a running job. Pure logic.
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

// Finds the rank that the others wait for in each step of a running job. Compares what the main
// threads computed between two samples. Ranks in the same steps need the same CPU time, so the
// others wait for one that needs more, even on busy machines. It must have used more in the last
// sample of `before`, too. nullopt: no outlier, or unknown because GPUs compute, not the main
// threads.
std::optional<v1::Issue> StragglerCause(const v1::JobSnapshot& snapshot,
                                        const v1::JobSnapshot& before, const Activities& ranks);

}  // namespace autodist::why
