// A sample within what the chief takes.
#pragma once

#include "autodist/v1/sample.pb.h"

namespace autodist::agent {

// Whatever drivers and names of devices say: numbers are finite and not negative, amounts no larger
// than there can be, texts UTF-8 and short, lists and the whole no longer than the limits
// (rpc/limits.h).
void LimitSample(v1::NodeSample& sample);

}  // namespace autodist::agent
