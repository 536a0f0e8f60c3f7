// What an event of a job says.
#pragma once

#include <string>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::snapshot {

// What the job or a node does from then on, in a few words; "": the event is of neither.
std::string PhaseText(const v1::JobEvent& event);

enum class EventTone { kPlain, kAway, kFailed, kEnded };
// What is told of a rank is its end, or what is odd about it.
EventTone ToneOf(const v1::JobEvent& event);

}  // namespace autodist::snapshot
