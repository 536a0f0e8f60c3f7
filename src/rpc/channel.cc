#include "rpc/channel.h"

#include <grpcpp/create_channel_posix.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rpc/limits.h"
#include "rpc/settings.h"

namespace autodist::rpc {
namespace {

// Formats gRPC's service config: the maximum response size of each call.
std::string AgentLimits() {
  constexpr std::pair<const char*, size_t> kLimits[] = {
      {"Prepare", kLargestPrepared},    {"Session", kLargestEvent},
      {"OpenPorts", kLargestOpenPorts}, {"TryPorts", kLargestPortTries},
      {"Sync", kLargestSyncAnswer},     {"FetchFiles", kLargestFetched}};
  std::string calls;
  for (const auto& [call, limit] : kLimits) {
    calls += std::string(calls.empty() ? "" : ",") +
             R"({"name":[{"service":"autodist.v1.AgentService","method":")" + call +
             R"("}],"maxResponseMessageBytes":)" + std::to_string(limit) + "}";
  }
  return R"({"methodConfig":[)" + calls + "]}";
}

grpc::ChannelArguments Arguments(size_t largest_message) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(largest_message));
  SetArguments([&](const char* name, int value) { arguments.SetInt(name, value); });
  return arguments;
}

Result<std::shared_ptr<grpc::Channel>> ChannelOver(base::UniqueFd socket,
                                                   const grpc::ChannelArguments& arguments) {
  AD_RETURN_IF_ERROR(base::SetNonBlocking(socket.get()));
  return grpc::CreateCustomInsecureChannelFromFd("node", socket.Release(), arguments);
}

}  // namespace

Result<std::shared_ptr<grpc::Channel>> ChannelToAgent(base::UniqueFd socket) {
  grpc::ChannelArguments arguments = Arguments(kLargestEvent);
  arguments.SetServiceConfigJSON(AgentLimits());
  return ChannelOver(std::move(socket), arguments);
}

Result<std::shared_ptr<grpc::Channel>> ChannelOver(base::UniqueFd socket) {
  return ChannelOver(std::move(socket), Arguments(kLargestFromHere));
}

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& path) {
  return grpc::CreateCustomChannel("unix:" + path, grpc::InsecureChannelCredentials(),
                                   Arguments(kLargestFromHere));
}

void KeepUntilExit(std::shared_ptr<grpc::Channel> channel) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::shared_ptr<grpc::Channel>>;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(channel));
}

Status FromGrpc(const grpc::Status& status) {
  // Our own failures of this kind have a message; gRPC's for an unknown method has none.
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED && status.error_message().empty()) {
    return WithRemedy(
        Error(StatusCode::kUnimplemented,
              "it is run by another version of autodist, which does not support this request"),
        "use the autodist version that started it");
  }
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED &&
      status.error_message() == "Deadline Exceeded") {
    return Error(StatusCode::kDeadlineExceeded, "no answer within the time limit");
  }
  // The codes are equal by design.
  return status.ok() ? OkStatus()
                     : Error(static_cast<StatusCode>(status.error_code()), status.error_message());
}

}  // namespace autodist::rpc
