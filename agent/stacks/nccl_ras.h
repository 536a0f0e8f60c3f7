// Queries NCCL's RAS subsystem: since 2.24, each process that uses NCCL answers on a socket.
// Protocol: NCCL's src/ras/client_support.cc.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "agent/stacks/group_count.h"
#include "autodist/status.h"
#include "base/deadline.h"

namespace autodist::agent {

// NCCL's default address; NCCL_RAS_ADDR overrides it.
inline constexpr char kNcclRasAddress[] = "localhost:28028";

struct NcclView {
  struct Process {
    std::string host;  // its address
    GroupCount count;
  };

  std::string summary;             // for users; printable lines; "": no answer
  std::vector<Process> processes;  // the known ones; empty before NCCL 2.28
};

// Where AskNccl connects to: "127.0.0.1:28028" and "[::1]:28028" for "localhost:28028".
std::vector<std::string> NcclRasEndpoints(const std::string& address);

// Returns NCCL's report about all processes of the job that it knows, as received until the
// deadline. `address`: a numeric address and a port, or "localhost", for which NCCL uses 127.0.0.1
// or ::1, according to the node's /etc/hosts. Any user's program may listen there: an answer counts
// only if one of `processes`, those of the job, gives it. Blocks until the deadline at most.
// SIGPIPE must be ignored.
NcclView AskNccl(const std::string& address, const std::vector<pid_t>& processes,
                 base::Deadline deadline);

// Parses an answer in JSON, which is untrusted. Needs memory for the ranks in it only.
Result<NcclView> ReadNcclJson(std::string_view json);

}  // namespace autodist::agent
