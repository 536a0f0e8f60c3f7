// What holds for all of gRPC's channels and servers.
#pragma once

#include <grpc/compression.h>
#include <grpc/grpc.h>

namespace autodist::rpc {

// No message is ever compressed: the size of one that was would be known only when it is inflated,
// and 2 MB may become 2 GB. `set` is called with the name of each argument and its value.
template <typename SetArgument>
void RefuseCompression(const SetArgument& set) {
  set(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE);
  set(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  set(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);  // before it is known that it is refused
}

// For a program's start. Neither gRPC nor Protocol Buffers writes to stderr what they think of what
// others send: calls fail for that, with a status. GRPC_VERBOSITY brings gRPC's words back. Nor
// does gRPC look for deadlocks of its own at each lock, as it is built to in Debian.
void BeginProgram();

}  // namespace autodist::rpc
