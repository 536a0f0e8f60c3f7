// The process that stands for a node where a scheduler starts programs on nodes, not the chief: it
// calls the chief, and runs what that wants here.
#pragma once

namespace autodist::agent {

// In the environment of what runs below it: signals that come from the scheduler are heeded,
// whoever is in charge of the job.
inline constexpr char kCallbackVariable[] = "AUTODIST_CALLBACK";

// argv: connect-back NODE SECONDS ADDRESS:PORT...; on stdin, one line with the node's key, or the
// job's (secure/key.h). With --munge or --munge=SOCKET behind the first address, that line is a
// credential of munge with such a line in it, made by this user; nothing else is taken then.
//
// Connects with the chief at the first of the addresses where one shows that it knows the key; an
// address is numeric, or a host's name. One that is this machine's as well as the chief's is not
// taken for the chief's unless all are. The chief's next program, "autodist-agent" is this one,
// gets the connection as its stdin and stdout, and another one is made at once. Calls again for
// SECONDS when the chief is away.
//
// SIGTERM is the scheduler's word that it ends the job here: the watchdog is told.
//
// Returns, when nothing that it has started is left, the process exit status: 0, the chief said
// that the job is over; 128 + SIGTERM; 1, there was no chief for so long.
int ConnectBack(int argc, char** argv);

}  // namespace autodist::agent
