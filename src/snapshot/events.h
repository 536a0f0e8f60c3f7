// Interprets a job's events.
#pragma once

#include <string>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::snapshot {

// The new state of the job or node in a few words; "": the event is of neither.
std::string PhaseText(const v1::JobEvent& event);

// The mark of an event that is an issue; MARK_ENDED: a rank exited with 0. Events of a rank are its
// end, or an anomaly.
v1::Mark MarkOf(const v1::JobEvent& event);

}  // namespace autodist::snapshot
