// The callback client: the process of a node whose programs are started by a scheduler. It connects
// to the chief, and runs programs for it.
#pragma once

namespace autodist::agent {

// Set in the environment of processes below it: signals that come from the scheduler are handled,
// whether or not a chief is connected.
inline constexpr char kCallbackVariable[] = "AUTODIST_CALLBACK";

// argv: connect-back NODE SECONDS ADDRESS:PORT...; on stdin, one line with the node's key, or the
// job's (secure/key.h). With --munge or --munge=SOCKET after the first address, that line must be a
// munge credential with such a line, created by this user.
//
// Connects to the chief at the first address whose server proves that it knows the key; an address
// is numeric, or a host name. Addresses that this machine shares with the chief are skipped unless
// all are shared. The chief's next program gets the connection as its stdin and stdout
// ("autodist-agent" means this program), and a new connection is made at once. Retries for SECONDS
// when the chief is unreachable.
//
// SIGTERM means that the scheduler ends the job here; it is passed on to the watchdog.
//
// Returns the process exit status after all processes that it has started have ended: 0, the chief
// has reported the job's end; 128 + SIGTERM; 1, no chief for SECONDS.
int ConnectBack(int argc, char** argv);

}  // namespace autodist::agent
