// Finds machines that lose packets between them, by the TCP retransmissions of their ranks. Pure
// logic.
#pragma once

#include <optional>

#include "autodist/v1/snapshot.pb.h"
#include "why/stack_causes.h"

namespace autodist::why {

// Compares two samples, between which agents have stopped no rank. Absent: no loss, or only one
// sample.
std::optional<v1::Issue> SentAgainCause(const v1::JobSnapshot& snapshot, const Activities& ranks);

}  // namespace autodist::why
