// Settings of autodist's gRPC servers, which have no address but are given connections.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>

namespace autodist::rpc {

// For a server that accepts messages up to this size, and no compressed ones.
void ConfigureServer(grpc::ServerBuilder& builder, size_t largest_message);

}  // namespace autodist::rpc
