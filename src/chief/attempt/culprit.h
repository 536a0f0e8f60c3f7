// Who failed first, where the rank that ended first only complains about a peer. Pure logic.
#pragma once

#include <cstdint>
#include <vector>

#include "chief/output/fatal_messages.h"

namespace autodist::chief {

// The earliest of the failures that came before the complaint of a rank, and are about no peer;
// nullptr: there is none, or the message is no complaint.
const RankFailure* Culprit(uint32_t rank, const FatalMessage& complaint,
                           const std::vector<RankFailure>& failures);

}  // namespace autodist::chief
