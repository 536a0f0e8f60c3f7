// How mpirun reaches a node without ssh: what it takes for ssh hands the command over to a program
// that waits on the node for it, through the job's rendezvous.
#pragma once

namespace autodist::agent {

// `remote-shell [OPTIONS] [USER@]HOST [OPTIONS] COMMAND...`, in place of ssh, whose options are
// skipped: has the command run on that node of the job, and returns without waiting for its end; if
// it fails, the job does. Exit code 255 where it could not be handed over, as ssh's.
int RemoteShell(int argc, char** argv);

// `remote-shell-server ADDRESS`: runs the commands that are handed over for this node, several at
// the same time where they are. Blocks until it is ended with the job, or one of them fails, whose
// exit code it returns.
int RemoteShellServer(int argc, char** argv);

}  // namespace autodist::agent
