// Ends what crashed chiefs have left on this node.
#pragma once

#include "agent/life/job_folder.h"

namespace autodist::agent {

// For each job of this user with a folder on the node, prints a line: "ended", "in-use" or
// "removed", a tab, and JOB.NODE_RANK. Does not touch a job with a connected chief. Blocks until
// the jobs have ended. Returns the process exit status.
int Clean();

// Kills the remaining processes of a job on this node after both its watchdog and agent were
// killed. Blocks until they have been sent SIGKILL; returns whether all have ended.
bool KillOrphans(const JobFolder& folder);

}  // namespace autodist::agent
