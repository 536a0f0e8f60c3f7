// gRPC over a byte stream that is already connected, and the conversion of gRPC's statuses.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::rpc {

// Returns a client channel over `socket`, which it takes over. The channel does not reconnect. The
// size of an agent's responses is limited by kind of call (rpc/limits.h).
Result<std::shared_ptr<grpc::Channel>> ChannelToAgent(base::UniqueFd socket);
Result<std::shared_ptr<grpc::Channel>> ChannelOver(base::UniqueFd socket);

// Returns a client channel to the Unix socket at `path`.
std::shared_ptr<grpc::Channel> ChannelTo(const std::string& path);

// Keeps the channel until the process exits: gRPC needs 0.1 ms to destroy one, and so seconds for
// thousands of nodes. Thread-safe.
void KeepUntilExit(std::shared_ptr<grpc::Channel> channel);

Status FromGrpc(const grpc::Status& status);

}  // namespace autodist::rpc
