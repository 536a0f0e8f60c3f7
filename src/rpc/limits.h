// Limits of the size of messages between the chief and the agents, in bytes. What one side sends,
// the other has to take.
#pragma once

#include <cstddef>

namespace autodist::rpc {

// Any message; the plan of a node with very long arguments fits.
inline constexpr int kLargestMessage = 64 << 20;

// What all nodes contribute to a gather, together.
inline constexpr size_t kLargestGather = 32 << 20;

// What one rank publishes for others.
inline constexpr size_t kLargestModex = 1 << 20;

// Bytes of a stream that may be on their way: 4 MiB in 200 ms are 20 MB/s.
inline constexpr int kStreamWindow = 4 << 20;

}  // namespace autodist::rpc
