// Finds ranks that others wait for because they have ended or are about to. Pure logic.
#pragma once

#include <optional>

#include "autodist/v1/snapshot.pb.h"
#include "why/stack_causes.h"

namespace autodist::why {

// A rank printed an uncaught exception but has not ended, for example because it hangs in cleanup.
// Only for ranks that stand still: one that is at work, or waits for others, survived the
// exception.
std::optional<v1::Issue> RaisedCause(const v1::JobSnapshot& snapshot, const Activities& ranks);

// Some ranks have exited with 0 and the others rest, so they may wait for them.
std::optional<v1::Issue> EndedWellCause(const v1::JobSnapshot& snapshot, const Activities& ranks);

// At least half of the ranks exited with code 0.
bool MostHaveEnded(const v1::JobSnapshot& snapshot);

}  // namespace autodist::why
