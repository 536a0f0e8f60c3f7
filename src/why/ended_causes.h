// What ranks that have ended, or are about to, keep the others waiting for. Pure logic.
#pragma once

#include <optional>

#include "autodist/v1/snapshot.pb.h"
#include "why/stack_causes.h"

namespace autodist::why {

// A rank has written an exception that nobody catches, and has not ended since: it hangs as it
// cleans up, say. Only of ranks that stand still; one that is at work, or waits for the others, has
// survived it.
std::optional<v1::Issue> RaisedCause(const v1::JobSnapshot& snapshot, const Activities& ranks);

// Some have ended well, and the others rest: they may wait for those.
std::optional<v1::Issue> EndedWellCause(const v1::JobSnapshot& snapshot, const Activities& ranks);

// With 0, half of them or more.
bool MostHaveEnded(const v1::JobSnapshot& snapshot);

}  // namespace autodist::why
