// Ends what crashed chiefs have left on this node.
#pragma once

namespace autodist::agent {

// For each job of this user that is found on the node, by its folder, prints a line: "ended",
// "in-use" or "removed", a tab, and JOB.NODE_RANK. A job whose chief is connected is left alone.
// Blocks until what it ends has ended. Returns the process exit status.
int Clean();

}  // namespace autodist::agent
