// What the restart policy is told of an attempt that has ended.
#pragma once

#include "chief/attempt/attempt.h"
#include "chief/fleet/fleet.h"
#include "chief/loop/loop.h"
#include "chief/policy/restart_policy.h"

namespace autodist::chief {

// The attempt must have a cause. For the loop's thread.
AttemptOutcome OutcomeOf(const Attempt& attempt, const Fleet& nodes, Loop::Time now);

}  // namespace autodist::chief
