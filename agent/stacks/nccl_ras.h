// NCCL's own view of a job: since 2.24, each process that uses it answers on a socket. The protocol
// is that of NCCL's src/ras/client_support.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/stacks/group_count.h"
#include "autodist/status.h"
#include "base/deadline.h"

namespace autodist::agent {

// Where NCCL listens unless NCCL_RAS_ADDR says otherwise.
inline constexpr char kNcclRasAddress[] = "localhost:28028";

struct NcclView {
  struct Process {
    std::string host;  // its address
    GroupCount count;
  };

  std::string summary;  // for people; lines that do nothing to a terminal; "": no NCCL answers
  std::vector<Process> processes;  // as many as it knows; none before NCCL 2.28
};

// What NCCL reports about all processes of the job that it knows; as much as came until the
// deadline. `address`: a numeric address and a port, or "localhost", which NCCL takes for 127.0.0.1
// or ::1, as the node's /etc/hosts has it. Blocks until the deadline at most. SIGPIPE must be
// ignored.
NcclView AskNccl(const std::string& address, base::Deadline deadline);

// Of what NCCL, or another program that listens in its place, answers in JSON.
Result<NcclView> ReadNcclJson(std::string_view json);

}  // namespace autodist::agent
