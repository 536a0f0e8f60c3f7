// The processes that descend from this one.
#pragma once

#include <sys/types.h>

#include <vector>

namespace autodist::process {

// From now on orphaned descendants become our children instead of init's.
void AdoptOrphans();

// The processes below `ancestor`, zombies too. One that starts or loses its parent meanwhile may be
// missing: a process that has adopted its orphans knows that none is left when it has no child.
std::vector<pid_t> Descendants(pid_t ancestor);

}  // namespace autodist::process
