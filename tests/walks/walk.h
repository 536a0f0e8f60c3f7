// Random walks of a job with two ranks on three simulated nodes, one of which is a spare, in
// simulated time. A walk has 12 events in a random order, at random intervals: a node is cut off,
// returns, flaps, freezes, dies, refuses, works slowly or is evicted; a rank fails; Ctrl-Z and
// Ctrl-C. Then all nodes become healthy again.
//
// There are never two of a rank; no job ends while enough nodes are healthy; each order to end is
// answered, and each job ends. What decides is the chief's own code, from JobRunner to Node, and in
// the agent AttemptGate. left_out.cc replaces what decides nothing, and so a walk takes less than a
// millisecond. The states are sampled, not enumerated.
#pragma once

#include <cstdint>
#include <string>

namespace autodist::walks {

struct Walked {
  std::string wrong;  // "": nothing
  std::string log;    // of events and messages, with times
};

// Reproducible. Blocks while the job runs; one call at a time.
Walked Walk(uint64_t seed);

}  // namespace autodist::walks
