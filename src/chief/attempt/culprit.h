// Finds the rank that failed first if the rank that ended first only complains about a peer. Pure
// logic.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "chief/attempt/job_state.h"
#include "chief/output/fatal_messages.h"

namespace autodist::chief {

// Returns the earliest failure before the complaint of a rank that complains about no peer;
// nullptr: none, or the message is no complaint.
const RankFailure* Culprit(uint32_t rank, const FatalMessage& complaint,
                           const std::vector<RankFailure>& failures);

// Returns the rank that had ended with 0 when another rank complained of a peer: one on the node
// that the complaint names, else the first that ended. nullptr: none, or the message is no
// complaint.
const EndedWell* EndedEarlier(const FatalMessage& complaint, const std::vector<EndedWell>& ended,
                              const v1::LaunchPlan& plan);

// Returns the loss of another node from which nothing had arrived since `failed`, the end of the
// rank that complains of a peer: of the node that the complaint names, else the first. A node whose
// ranks did not end when they were stopped is lost, too, but was in contact. nullptr: none, or the
// message is no complaint.
const Cause* LostBefore(const FatalMessage& complaint, const Cause& failed,
                        const std::vector<Cause>& later, const v1::LaunchPlan& plan);

// The ranks that have not enqueued a collective for which others wait; empty: unknown.
struct NotEnqueued {
  std::vector<uint32_t> ranks;
  uint64_t collective = 0;  // its number in the process group
};

// Decides by what NCCL's watchdog wrote in each rank. If all of these have enqueued the same, it is
// the only one of those in which it wrote nothing, `silent`.
NotEnqueued WhoDidNotEnqueue(const std::map<uint32_t, EnqueuedCollectives>& enqueued,
                             const std::vector<uint32_t>& silent);

}  // namespace autodist::chief
