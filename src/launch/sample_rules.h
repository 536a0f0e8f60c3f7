// What an agent may say in a sample.
#pragma once

#include "autodist/status.h"
#include "autodist/v1/sample.pb.h"

namespace autodist::launch {

// OK, or a broken rule (launch/agent_rules.h); of anything but its time.
Status CheckSample(const v1::NodeSample& sample);

}  // namespace autodist::launch
