// gRPC over a byte stream that is already connected, and our Status for gRPC's.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::rpc {

// A client channel over `socket`, which it owns from now on. The channel does not reconnect. To an
// agent, what comes has a limit for each kind of call (rpc/limits.h).
Result<std::shared_ptr<grpc::Channel>> ChannelToAgent(base::UniqueFd socket);
Result<std::shared_ptr<grpc::Channel>> ChannelOver(base::UniqueFd socket);

// A client channel to the unix socket at `path`.
std::shared_ptr<grpc::Channel> ChannelTo(const std::string& path);

// Keeps the channel for as long as the process lives: gRPC takes a tenth of a millisecond to take
// one apart, and seconds for those of thousands of nodes. Thread-safe.
void KeepUntilExit(std::shared_ptr<grpc::Channel> channel);

Status FromGrpc(const grpc::Status& status);

}  // namespace autodist::rpc
