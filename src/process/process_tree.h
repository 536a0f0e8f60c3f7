// The processes that descend from this one.
#pragma once

#include <sys/types.h>

#include <vector>

namespace autodist::process {

// From now on orphaned descendants become our children instead of init's.
void AdoptOrphans();

// Every process below `ancestor` at this moment, zombies left out.
std::vector<pid_t> Descendants(pid_t ancestor);

}  // namespace autodist::process
