// What holds for all of gRPC's channels and servers.
#pragma once

#include <grpc/compression.h>
#include <grpc/grpc.h>

#include "rpc/limits.h"

namespace autodist::rpc {

// `set` is called with the name of each argument and its value.
template <typename SetArgument>
void SetArguments(const SetArgument& set) {
  // No message is ever compressed: the size of one that was would be known only when it is
  // inflated, and 2 MB may become 2 GB.
  set(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE);
  set(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  set(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);  // before it is known that it is refused
  // Counters for each message, which nobody reads.
  set(GRPC_ARG_ENABLE_CHANNELZ, 0);
  // gRPC's estimate of the bandwidth takes pings, half of what a node costs that has nothing to
  // say.
  set(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  set(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kStreamWindow);
}

// For a program's start. Neither gRPC nor Protocol Buffers writes to stderr what they think of what
// others send: calls fail for that, with a status. GRPC_VERBOSITY brings gRPC's words back. Nor
// does gRPC look for deadlocks of its own at each lock, as it is built to in Debian.
void BeginProgram();

}  // namespace autodist::rpc
