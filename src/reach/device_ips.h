// Addresses of NPUs that the spec does not give.
#pragma once

#include "autodist/status.h"
#include "plan/plan.h"

namespace autodist::reach {

// Asks the nodes of `input` whose spec has gpus without device_ips, and adds what they say. Blocks
// until all have answered, for kAskLimit each at most, many at the same time. Asks nobody
// where the plan is wrong in anything else, and says what. Says of all that cannot be asked why.
Status AskForDeviceIps(plan::Input& input);

}  // namespace autodist::reach
