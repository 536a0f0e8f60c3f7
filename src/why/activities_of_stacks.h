// What ranks were doing in two looks, by the texts of their agents. Pure logic.
#pragma once

#include <vector>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"
#include "why/standing.h"

namespace autodist::why {

using Stacks = std::vector<v1::WholeStack>;

// In order of the ranks; of auxiliary processes nothing. Who is at work, as what it has done
// between the looks shows, is said to be.
Activities ReadStacks(const v1::JobSnapshot& snapshot, const Stacks& now, const Stacks& earlier);

}  // namespace autodist::why
