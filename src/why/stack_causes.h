// What the stacks of all ranks say together: who is not where the others wait. Pure logic.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "why/standing.h"

namespace autodist::why {

// Somebody is stopped by a signal, which is wrong whatever else goes on.
std::optional<v1::Issue> StoppedCause(const v1::JobSnapshot& snapshot, const Activities& ranks);

// Who keeps the others waiting, or waits for what cannot come. Only of ranks that stand still: by
// both looks, or because that is known. Absent: nobody, or somebody who is at work.
std::optional<v1::Issue> StandstillCause(const v1::JobSnapshot& snapshot, const Activities& ranks,
                                         bool stands_still);

// What all are doing, each of them once, as evidence of whatever it may be.
void AddActivities(const Activities& ranks, v1::Issue& issue);

// All are where they were in the look before, and have not run in between.
bool AllStand(const Activities& ranks);
// All have run in between: the job goes on, if silently.
bool AllRun(const Activities& ranks);
// All have read or written something in between.
bool AllMoveData(const Activities& ranks);

// Ranks, or processes of them, that wait in a collective for others.
size_t Waiting(const Activities& ranks);

}  // namespace autodist::why
