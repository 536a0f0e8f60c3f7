// The input of the restart policy from an attempt that has ended.
#pragma once

#include <chrono>

#include "chief/attempt/attempt.h"
#include "chief/fleet/fleet.h"
#include "chief/loop/loop.h"
#include "chief/policy/restart_policy.h"

namespace autodist::chief {

// The attempt must have a cause. Used on the loop's thread.
inline AttemptOutcome OutcomeOf(const Attempt& attempt, const Fleet& nodes, Loop::Time now) {
  AttemptOutcome outcome{*attempt.state().cause()};
  outcome.ran = attempt.state().ran();
  outcome.nodes_present = nodes.staying();
  for (const uint32_t node : attempt.nodes()) outcome.nodes_missing |= !nodes.Stays(node);
  outcome.lasted = std::chrono::duration_cast<std::chrono::milliseconds>(now - attempt.began);
  return outcome;
}

}  // namespace autodist::chief
