// gRPC servers as all of autodist's are: they have no address, but are handed connections.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>

namespace autodist::rpc {

// For a server that takes messages of this size, and none that is compressed.
void ConfigureServer(grpc::ServerBuilder& builder, size_t largest_message);

}  // namespace autodist::rpc
