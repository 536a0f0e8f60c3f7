// The limit of open files for this process and its children.
#pragma once

namespace autodist::process {

// Raises the soft limit of open files to the hard limit: a job needs two log files for each rank,
// and one or two sockets for each node. Children started with Spawn keep the original limit, since
// some programs iterate over all possible descriptors and select() is limited to 1024.
void RaiseFileLimit();

// Restores the original limit, in a child before it executes a program. Makes only system calls.
void RestoreFileLimit();

}  // namespace autodist::process
