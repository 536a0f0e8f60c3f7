// The input of the restart policy from an attempt that has ended.
#pragma once

#include "chief/attempt/attempt.h"
#include "chief/fleet/fleet.h"
#include "chief/loop/loop.h"
#include "chief/policy/restart_policy.h"
#include "chief/start/roster.h"

namespace autodist::chief {

// The attempt must have a cause, and its last output must be known. Leaves out what is known about
// checkpoints. Used on the loop's thread.
AttemptOutcome OutcomeOf(const Attempt& attempt, const Fleet& nodes, const Roster& roster,
                         Loop::Time now);

}  // namespace autodist::chief
