// What an event of a job says.
#pragma once

#include <string>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::snapshot {

// What the job or a node does from then on, in a few words; "": the event is of neither.
std::string PhaseText(const v1::JobEvent& event);

// Whether it is a change for the worse, and which; MARK_ENDED: of a rank that has ended well. What
// is told of a rank is its end, or what is odd about it.
v1::Mark MarkOf(const v1::JobEvent& event);

}  // namespace autodist::snapshot
