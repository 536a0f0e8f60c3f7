// NCCL's own view of a job: since 2.24, each process that uses it answers on a socket.
#pragma once

#include <string>

#include "base/deadline.h"

namespace autodist::agent {

// Where NCCL listens unless NCCL_RAS_ADDR says otherwise.
inline constexpr char kNcclRasAddress[] = "localhost:28028";

// What NCCL reports about all processes of the job that it knows; as much as came until the
// deadline, 1 MiB at most. "" when no NCCL answers at `address`, a numeric address and a port, or
// "localhost", which NCCL takes for 127.0.0.1 or ::1, as the node's /etc/hosts has it. UTF-8 that
// does nothing to a terminal. Blocks until the deadline at most. SIGPIPE must be ignored.
std::string NcclRasSummary(const std::string& address, base::Deadline deadline);

}  // namespace autodist::agent
