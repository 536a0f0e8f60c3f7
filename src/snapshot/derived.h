// Computes values that follow from a snapshot: state texts (state_names.h), marks, step times, and
// the order of ranks. They are computed once, when a snapshot is made, and are part of it, so that
// views only draw. Pure functions.
#pragma once

#include "autodist/v1/snapshot.pb.h"

namespace autodist::snapshot {

// Sets the derived fields, replacing earlier values.
void Derive(v1::JobSnapshot& snapshot);
// Replaces the job's status by a later one, and derives again.
void SetStatus(const v1::JobStatus& job, v1::JobSnapshot& snapshot);

}  // namespace autodist::snapshot
