// Connects our stdin and stdout with the agent of a job on this node, starting it if need be.
#pragma once

#include <chrono>
#include <string>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::agent {

// Which agent: one per job and node.
struct AgentIdentity {
  std::string job_id;
  std::string node_rank;
  std::chrono::milliseconds lease;  // without a word from the chief, the agent ends the job
  std::chrono::milliseconds grace;  // between SIGTERM and SIGKILL when it does
};

// argv: attach JOB NODE_RANK NONCE LEASE_MS GRACE_MS.
//
// Prints the ready line with the nonce, so that the chief can discard what a login shell printed
// before, then passes bytes both ways until the agent closes the connection. Returns the process
// exit status.
int Attach(int argc, char** argv);

}  // namespace autodist::agent
