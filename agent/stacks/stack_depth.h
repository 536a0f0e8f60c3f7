// Where a main thread waits, by the kernel's data alone: for nodes without py-spy and gdb.
#pragma once

#include <string>

namespace autodist::agent {

// Returns "stack: 2656 bytes deep, at f16, code 3fa2b1", for the main thread in this folder of
// /proc: the bytes on its stack since the program started, the last bits of the address from which
// it called the kernel, which the loader does not change, and a hash of the program and its large
// libraries. Ranks that wait in the same place of the same code agree in all, except that functions
// that align their frames change the depth by less than 64 bytes. "": it is not in a system call,
// or the kernel hides the data.
std::string DepthOfStack(const std::string& folder);

}  // namespace autodist::agent
