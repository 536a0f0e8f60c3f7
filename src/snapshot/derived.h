// What follows from a snapshot, for all that show it: words for states (state_names.h), marks, step
// times, and the order of ranks. It is computed once, where a snapshot is made, and is part of it;
// views only draw. Pure functions.
#pragma once

#include "autodist/v1/snapshot.pb.h"

namespace autodist::snapshot {

// Fills in what is derived; what was there is replaced.
void Derive(v1::JobSnapshot& snapshot);
// Replaces the status of the job by a later one, and derives again.
void SetStatus(const v1::JobStatus& job, v1::JobSnapshot& snapshot);

}  // namespace autodist::snapshot
