// How often the kernel has run out of memory.
#pragma once

#include <cstdint>

namespace autodist::process {

// The number of processes that it has killed for want of memory, of the machine or of a cgroup,
// since it was started; 0 where it does not tell.
uint64_t OomKills();

}  // namespace autodist::process
