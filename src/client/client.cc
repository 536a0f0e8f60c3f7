#include "autodist/client.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "autodist/v1/rendezvous.grpc.pb.h"
#include "base/fd.h"
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

// Formats JSON with Python's extensions.
std::string JsonNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char text[32];
  const auto written = std::to_chars(text, text + sizeof text, value);
  return {text, written.ptr};
}

// Also opened for reading: so writes never wait for a reader, nor raise SIGPIPE.
base::UniqueFd OpenProgress() {
  const char* path = std::getenv("AUTODIST_PROGRESS");
  if (!path || !*path) return {};
  return base::UniqueFd(open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC));
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

Status ReportProgress(uint64_t step, uint64_t total,
                      const std::vector<std::pair<std::string, double>>& metrics) {
  static const base::UniqueFd file = OpenProgress();
  if (!file.valid()) return OkStatus();
  std::string line = "{\"step\": " + std::to_string(step);
  if (total > 0) line += ", \"total\": " + std::to_string(total);
  for (const auto& [name, value] : metrics) {
    constexpr char kAllowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@%+-()# ";
    if (name.empty() || name.find_first_not_of(kAllowed) != std::string::npos) {
      return Error(StatusCode::kInvalidArgument, "'" + name + "' is no name for a metric");
    }
    line += ", \"" + name + "\": " + JsonNumber(value);
  }
  line += "}\n";
  // Writes up to PIPE_BUF bytes are atomic.
  if (line.size() > PIPE_BUF) {
    return Error(StatusCode::kInvalidArgument,
                 "progress of " + std::to_string(line.size()) + " bytes is too long");
  }
  if (write(file.get(), line.data(), line.size()) < 0 && errno != EAGAIN && errno != EINTR) {
    return ErrnoError(errno, "AUTODIST_PROGRESS");
  }
  return OkStatus();
}

}  // namespace autodist
