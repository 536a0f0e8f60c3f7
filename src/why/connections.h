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

}  // namespace autodist::why
