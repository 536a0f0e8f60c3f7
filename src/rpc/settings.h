// Settings of all gRPC channels and servers.
#pragma once

#include <grpc/compression.h>
#include <grpc/grpc.h>

#include "rpc/limits.h"

namespace autodist::rpc {

// Calls `set` with the name of each argument and its value.
template <typename SetArgument>
void SetArguments(const SetArgument& set) {
  // Rejects compressed messages: their size is known only after decompression, and 2 MB may become
  // 2 GB.
  set(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE);
  set(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  // Otherwise decompression precedes the rejection.
  set(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  // Disables counters for each message, which are not used.
  set(GRPC_ARG_ENABLE_CHANNELZ, 0);
  // Disables the bandwidth estimate: its pings are half the cost of an idle node.
  set(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  set(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kStreamWindow);
}

// Call at program start. Stops gRPC and Protocol Buffers from writing to stderr about messages from
// others; calls fail with a status instead. GRPC_VERBOSITY turns gRPC's messages on again. Also
// turns off gRPC's deadlock detection, which Debian's build enables and which costs time at each
// lock.
void BeginProgram();

}  // namespace autodist::rpc
