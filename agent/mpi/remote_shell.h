// Runs mpirun's commands on nodes without ssh: the replacement of ssh passes a command through the
// job's rendezvous to a program that waits for it on the node.
#pragma once

namespace autodist::agent {

// `remote-shell [OPTIONS] [USER@]HOST [OPTIONS] COMMAND...` replaces ssh, whose options are
// ignored: starts the command on that node of the job, and returns without waiting for its end; if
// it fails, the job fails. Exit code 255 if it could not be passed on, like ssh.
int RemoteShell(int argc, char** argv);

// `remote-shell-server NODE`: runs the commands of node 0 to this node, in parallel. `NODE` is its
// number. Blocks until it is killed with the job, or a command fails, whose exit code it returns.
int RemoteShellServer(int argc, char** argv);

}  // namespace autodist::agent
