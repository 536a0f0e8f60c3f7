// How many files this process, and what it starts, may have open.
#pragma once

namespace autodist::process {

// Allows this process as many open files as it may have: a job needs two log files per rank and a
// socket or two per node. What it starts by Spawn keeps the limit that we were started with: some
// programs go through all descriptors that they may have, and select() has a limit of its own.
void RaiseFileLimit();

// Sets that limit again, in a child that is about to execute a program. A system call at most.
void RestoreFileLimit();

}  // namespace autodist::process
