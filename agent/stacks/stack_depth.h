// Where a main thread waits, by the kernel's data alone: for nodes without py-spy and gdb.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace autodist::agent {

struct StackPosition {
  uint64_t bytes = 0;  // on the stack since the program started
  uint64_t at = 0;     // the last bits of the address of the call, which the loader does not change
};

// Of the main thread in this folder of /proc; absent: it is not in a system call, or the kernel
// hides the data.
std::optional<StackPosition> PositionOf(const std::string& folder);

// Returns "stack: 2656 bytes deep, at f16, code 3fa2b1": the last number is a hash of the program
// and its large libraries, which are read now. Ranks that wait in the same place of the same code
// agree in all, except that functions that align their frames change the depth by less than 64
// bytes. "": the kernel hides the libraries.
std::string DepthText(const StackPosition& position, const std::string& folder);

}  // namespace autodist::agent
