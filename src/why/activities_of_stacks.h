// Reads what ranks were doing from two samples of stacks that their agents sent. Pure logic.
#pragma once

#include <vector>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"
#include "why/standing.h"

namespace autodist::why {

using Stacks = std::vector<v1::WholeStack>;

// Sorted by rank, without auxiliary processes. Marks as at work every rank that made progress
// between the samples.
Activities ReadStacks(const v1::JobSnapshot& snapshot, const Stacks& now, const Stacks& earlier);

}  // namespace autodist::why
