// Who failed first, where the rank that ended first only complains about a peer. Pure logic.
#pragma once

#include <cstdint>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "chief/attempt/job_state.h"
#include "chief/output/fatal_messages.h"

namespace autodist::chief {

// The earliest of the failures that came before the complaint of a rank, and are about no peer;
// nullptr: there is none, or the message is no complaint.
const RankFailure* Culprit(uint32_t rank, const FatalMessage& complaint,
                           const std::vector<RankFailure>& failures);

// Who had ended with 0 when another rank complained of a peer: on the node that the complaint
// names, else who ended first; nullptr: nobody had, or the message is no complaint.
const EndedWell* WhoLeft(const FatalMessage& complaint, const std::vector<EndedWell>& ended,
                         const v1::LaunchPlan& plan);

}  // namespace autodist::chief
