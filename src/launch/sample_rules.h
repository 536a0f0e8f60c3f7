// Validation of an agent's samples.
#pragma once

#include "autodist/status.h"
#include "autodist/v1/sample.pb.h"

namespace autodist::launch {

// Returns OK or a broken rule (launch/agent_rules.h); does not check the time.
Status CheckSample(const v1::NodeSample& sample);

}  // namespace autodist::launch
