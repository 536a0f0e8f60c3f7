// Connects our stdin and stdout with the agent of a job on this node, starting it if need be.
#pragma once

namespace autodist::agent {

// argv: attach JOB NODE_RANK NONCE LEASE_MS GRACE_MS start|rejoin|resume [SCOPE].
//
// Prints the ready line with the nonce, so that the chief can discard what a login shell printed
// before, then passes bytes both ways until the agent closes the connection, and waits until
// nothing of the job is left on the node. `resume` starts no agent: where there is certainly none
// any more, prints the line for that, and what became of it; SCOPE is what the agent's start said
// of its machine. `rejoin`: as start, once what an earlier agent of the job has left has ended.
// Returns the process exit status.
int Attach(int argc, char** argv);

}  // namespace autodist::agent
