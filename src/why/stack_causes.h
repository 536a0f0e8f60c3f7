// Finds the cause in the stacks of all ranks: ranks that are not where the others wait. Pure logic.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "why/standing.h"

namespace autodist::why {

// A rank is stopped by a signal, which is wrong in any case.
std::optional<v1::Issue> StoppedCause(const v1::JobSnapshot& snapshot, const Activities& ranks);

// Finds ranks that keep the others waiting, or that wait forever. Only for ranks that stand still,
// by both samples or because the job is stalled. Absent: none, or one that is at work. A warning: a
// rank waits for a service, which is no fault in itself.
std::optional<v1::Issue> StandstillCause(const v1::JobSnapshot& snapshot, const Activities& ranks,
                                         bool stalled);

// Adds what all ranks are doing, each activity once, as evidence of any issue.
void AddActivities(const Activities& ranks, v1::Issue& issue);

// All are where they were in the earlier sample, and have not run in between.
bool AllStand(const Activities& ranks);
// All have run in between: the job makes progress without output.
bool AllRun(const Activities& ranks);
// All have read or written data in between.
bool AllMoveData(const Activities& ranks);

// Counts the ranks, or processes of ranks, that wait in a collective.
size_t Waiting(const Activities& ranks);

// The causes below are ranks that others wait for because they have ended or are about to.

// A rank printed an uncaught exception but has not ended, for example because it hangs in cleanup.
// Only for ranks that stand still: one that is at work, or waits for others, survived the
// exception.
std::optional<v1::Issue> RaisedCause(const v1::JobSnapshot& snapshot, const Activities& ranks);

// Some ranks have exited with 0 and the others rest, so they may wait for them.
std::optional<v1::Issue> EndedWellCause(const v1::JobSnapshot& snapshot, const Activities& ranks);

// At least half of the ranks exited with code 0.
bool MostHaveEnded(const v1::JobSnapshot& snapshot);

}  // namespace autodist::why
