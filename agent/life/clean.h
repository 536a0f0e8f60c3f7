// Ends what crashed chiefs have left on this node.
#pragma once

#include "agent/life/job_folder.h"

namespace autodist::agent {

// For each job of this user that is found on the node, by its folder, prints a line: "ended",
// "in-use" or "removed", a tab, and JOB.NODE_RANK. A job whose chief is connected is left alone.
// Blocks until what it ends has ended. Returns the process exit status.
int Clean();

// Ends what the ranks of a job have left on this node whose watchdog and agent were both killed.
// Blocks until it has had SIGKILL.
void KillOrphans(const JobFolder& folder);

}  // namespace autodist::agent
