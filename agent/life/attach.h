// Connects our stdin and stdout to the agent of a job on this node, and starts it if necessary.
#pragma once

namespace autodist::agent {

// argv: attach JOB NODE_RANK NONCE LEASE_MS GRACE_MS start|rejoin|resume [SCOPE].
//
// Prints the ready line with the nonce, so that the chief can discard earlier output of a login
// shell, then passes bytes in both directions until the agent closes the connection, and waits
// until no process of the job is left on the node. `resume` starts no agent: if the agent has
// certainly ended, prints the line for that, with the reason; SCOPE is the machine's scope at the
// agent's start. `rejoin`: like start, after the remains of an earlier agent of the job have ended.
// Returns the process exit status.
int Attach(int argc, char** argv);

}  // namespace autodist::agent
