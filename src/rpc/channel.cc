#include "rpc/channel.h"

#include <grpcpp/create_channel_posix.h>

#include "rpc/limits.h"

namespace autodist::rpc {
namespace {

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kLargestMessage);
  return arguments;
}

}  // namespace

Result<std::shared_ptr<grpc::Channel>> ChannelOver(base::UniqueFd socket) {
  AD_RETURN_IF_ERROR(base::SetNonBlocking(socket.get()));
  return grpc::CreateCustomInsecureChannelFromFd("node", socket.Release(), Arguments());
}

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& path) {
  return grpc::CreateCustomChannel("unix:" + path, grpc::InsecureChannelCredentials(), Arguments());
}

Status FromGrpc(const grpc::Status& status) {
  // The codes of both are the same by design.
  return status.ok() ? OkStatus()
                     : Error(static_cast<StatusCode>(status.error_code()), status.error_message());
}

}  // namespace autodist::rpc
