// Finds ranks that cannot connect to another process, by their sockets. Pure logic.
#pragma once

#include <optional>
#include <string>

#include "autodist/v1/snapshot.pb.h"
#include "why/standing.h"

namespace autodist::why {

// Where the ranks should find each other, as autodist set it; empty: it did not.
struct Rendezvous {
  std::string address;  // MASTER_ADDR
  std::string port;     // MASTER_PORT
};

// Finds attempts that are not answered in two samples, or are refused between them, of ranks that
// make no progress. nullopt: none, or the process to which they connect may still be starting.
// `stalled`: the job is known to be stalled, so one sample is enough.
std::optional<v1::Issue> CannotConnectCause(const v1::JobSnapshot& snapshot,
                                            const Activities& ranks, const Rendezvous& given,
                                            bool stalled);

// Finds ranks each of which waits at a socket for the next one, and the last for the first. Their
// main threads have not run between two samples, and no data have moved. nullopt: none, or
// a rank may be at work, for which they may wait.
std::optional<v1::Issue> CircleCause(const v1::JobSnapshot& snapshot, const Activities& ranks,
                                     const Rendezvous& given);

// Those that wait at a socket whose other end one of the ranks has: another one, or itself, such as
// the rank that serves PyTorch's store.
Ranks AwaitingRanks(const v1::JobSnapshot& snapshot, const Ranks& ranks);

}  // namespace autodist::why
