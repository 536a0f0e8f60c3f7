#include "autodist/client.h"

#include <charconv>
#include <cstdlib>

#include "autodist/v1/rendezvous.grpc.pb.h"
#include "rpc/channel.h"

namespace autodist {
namespace {

Result<std::string> Variable(const char* name) {
  const char* value = std::getenv(name);
  if (value) return std::string(value);
  return WithRemedy(Error(StatusCode::kFailedPrecondition, std::string(name) + " is not set"),
                    "start this program with `autodist run -- PROGRAM`");
}

Result<uint32_t> Number(const char* name) {
  AD_ASSIGN_OR_RETURN(const std::string text, Variable(name));
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Error(StatusCode::kInvalidArgument, std::string(name) + "='" + text + "' is no number");
  }
  return number;
}

void SetTimeout(grpc::ClientContext& context, std::chrono::milliseconds timeout) {
  context.set_deadline(std::chrono::system_clock::now() + timeout);
}

}  // namespace

struct Client::Connection {
  std::unique_ptr<v1::RendezvousService::Stub> stub;
};

Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::Connect() {
  std::unique_ptr<Client> client(new Client);
  AD_ASSIGN_OR_RETURN(client->rank_, Number("AUTODIST_RANK"));
  AD_ASSIGN_OR_RETURN(client->world_size_, Number("AUTODIST_WORLD_SIZE"));
  AD_ASSIGN_OR_RETURN(client->local_rank_, Number("AUTODIST_LOCAL_RANK"));
  AD_ASSIGN_OR_RETURN(client->node_address_, Variable("AUTODIST_NODE_ADDRESS"));
  AD_ASSIGN_OR_RETURN(const std::string device, Variable("AUTODIST_DEVICE"));
  AD_ASSIGN_OR_RETURN(const std::string socket, Variable("AUTODIST_AGENT_SOCKET"));
  client->on_gpu_ = device == "gpu";
  client->connection_ = std::make_unique<Connection>(
      Connection{v1::RendezvousService::NewStub(rpc::ChannelTo(socket))});
  return client;
}

Status Client::Set(const std::string& key, const std::string& value) {
  grpc::ClientContext context;
  SetTimeout(context, kDefaultTimeout);
  v1::SetRequest request;
  request.set_key(key);
  request.set_value(value);
  v1::SetResponse response;
  return Annotate(rpc::FromGrpc(connection_->stub->Set(&context, request, &response)),
                  "rendezvous: setting '" + key + "'");
}

Result<std::string> Client::Get(const std::string& key, std::chrono::milliseconds timeout) {
  grpc::ClientContext context;
  SetTimeout(context, timeout);
  v1::GetRequest request;
  request.set_key(key);
  v1::GetResponse response;
  AD_RETURN_IF_ERROR(Annotate(rpc::FromGrpc(connection_->stub->Get(&context, request, &response)),
                              "rendezvous: waiting for '" + key + "'"));
  return response.value();
}

Status Client::Barrier(const std::string& name, std::chrono::milliseconds timeout) {
  grpc::ClientContext context;
  SetTimeout(context, timeout);
  v1::BarrierRequest request;
  request.set_name(name);
  request.set_rank(rank_);
  v1::BarrierResponse response;
  return Annotate(rpc::FromGrpc(connection_->stub->Barrier(&context, request, &response)),
                  "rendezvous: barrier '" + name + "'");
}

}  // namespace autodist
