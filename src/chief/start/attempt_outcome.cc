#include "chief/start/attempt_outcome.h"

#include <chrono>

namespace autodist::chief {

AttemptOutcome OutcomeOf(const Attempt& attempt, const Fleet& nodes, Loop::Time now) {
  AttemptOutcome outcome{*attempt.state().cause()};
  outcome.ran = attempt.state().ran();
  outcome.nodes_there = nodes.staying();
  for (const uint32_t node : attempt.nodes()) outcome.nodes_missing |= !nodes.Stays(node);
  outcome.lasted = std::chrono::duration_cast<std::chrono::milliseconds>(now - attempt.began);
  return outcome;
}

}  // namespace autodist::chief
