// liar LIE attach JOB NODE NONCE ...   behaves as `autodist-agent attach ...`
// liar LIE clean                       behaves as `autodist-agent clean`
// liar --list                          prints the names of all lies
#include <grpcpp/server_posix.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <thread>
#include <utility>

#include "base/fd.h"
#include "hostile/liar.h"
#include "rpc/bootstrap_lines.h"

namespace autodist::hostile {
namespace {

void Pass(int from, int to) {
  char buffer[65536];
  for (ssize_t got = 0; (got = read(from, buffer, sizeof buffer)) > 0;) {
    const std::string_view data(buffer, static_cast<size_t>(got));
    if (!base::WriteAll(to, data, base::Deadline::Never()).ok()) break;
  }
  _exit(0);  // the chief has exited or disconnected
}

class LyingAgent final : public v1::AgentService::Service {
 public:
  LyingAgent(const Behaviour& behaviour, std::string job)
      : behaviour_(behaviour), job_(std::move(job)) {
    std::ifstream kept(KeptIn(), std::ios::binary);
    prepared_.ParseFromIstream(&kept);
  }

 private:
  grpc::Status Prepare(grpc::ServerContext* context, const v1::PrepareRequest* request,
                       v1::PrepareResponse* response) override {
    prepared_ = *request;
    Keep();
    return behaviour_.prepare ? behaviour_.prepare(*context, *request, *response)
                              : grpc::Status::OK;
  }
  grpc::Status OpenPorts(grpc::ServerContext*, const v1::OpenPortsRequest* request,
                         v1::OpenPortsResponse* response) override {
    if (behaviour_.open_ports) behaviour_.open_ports(*request, *response);
    return grpc::Status::OK;
  }
  grpc::Status TryPorts(grpc::ServerContext*, const v1::TryPortsRequest* request,
                        v1::TryPortsResponse* response) override {
    for (int i = 0; i < request->targets_size(); ++i) response->add_tries();
    if (behaviour_.try_ports) behaviour_.try_ports(*request, *response);
    return grpc::Status::OK;
  }

  grpc::Status Sync(grpc::ServerContext*,
                    grpc::ServerReaderWriter<v1::SyncResponse, v1::SyncRequest>* stream) override {
    v1::SyncRequest request;
    v1::SyncResponse response;
    stream->Read(&request);
    response.mutable_target_info();
    stream->Write(response);
    const WriteSync write = [&](const auto& answer) { return stream->Write(answer); };
    std::vector<v1::FileEntry> entries;
    while (!request.list().last() && stream->Read(&request)) {
      entries.insert(entries.end(), request.list().entries().begin(),
                     request.list().entries().end());
    }
    if (behaviour_.sync) {
      behaviour_.sync(entries.size(), write);
    } else {
      response.mutable_differences()->set_last(true);
      stream->Write(response);
    }
    while (stream->Read(&request) && !request.has_complete()) {
      if (request.has_relay()) {
        response.mutable_passing_on();
        behaviour_.relay ? behaviour_.relay({request, entries, write}) : (void)write(response);
      }
      if (request.has_passed()) {
        response.mutable_unavailable();
        behaviour_.get_passed ? behaviour_.get_passed({request, entries, write})
                              : (void)write(response);
      }
    }
    response.mutable_finished();
    stream->Write(response);
    return grpc::Status::OK;
  }

  grpc::Status Session(grpc::ServerContext*, Stream* stream) override {
    LyingSession session(behaviour_, prepared_, *stream);
    for (v1::ChiefMessage message; !message.has_shutdown() && stream->Read(&message);) {
      session.Take(message);
    }
    return grpc::Status::OK;
  }

  // Each connection of the chief is served by a separate process.
  std::string KeptIn() const { return "/tmp/liar." + job_; }
  void Keep() const {
    std::ofstream kept(KeptIn(), std::ios::binary);
    prepared_.SerializeToOstream(&kept);
  }

  const Behaviour& behaviour_;
  const std::string job_;
  v1::PrepareRequest prepared_;
};

void Attach(const Behaviour& behaviour, const std::string& job, const std::string& nonce) {
  if (behaviour.in_place_of_ready) return behaviour.in_place_of_ready(nonce);
  const auto never = base::Deadline::Never();
  if (!base::WriteAll(STDOUT_FILENO, rpc::ReadyLine(nonce), never).ok()) return;
  char greeting[rpc::kGreetingSize];
  for (size_t have = 0; have < sizeof greeting;) {
    const ssize_t got = read(STDIN_FILENO, greeting + have, sizeof greeting - have);
    if (got <= 0) return;
    have += static_cast<size_t>(got);
  }
  if (behaviour.after_greeting) return behaviour.after_greeting();
  LyingAgent service(behaviour, job);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  auto sockets = base::StreamSocketPair();
  if (!base::SetNonBlocking(sockets->first.get()).ok()) return;
  grpc::AddInsecureChannelFromFd(server.get(), sockets->first.Release());
  const int far = sockets->second.get();
  std::thread([far] { Pass(STDIN_FILENO, far); }).detach();
  Pass(far, STDOUT_FILENO);
}

}  // namespace

LyingSession::LyingSession(const Behaviour& behaviour, const v1::PrepareRequest& prepared,
                           Stream& stream)
    : behaviour_(behaviour), name_space_(prepared.pmix().name_space()), stream_(stream) {
  forgets = true;
  ranks_ignore_stop = ranks_cannot_be_killed = !behaviour.exits;
  SimulatedAgent::Prepare(prepared, [](auto) {});
}

void LyingSession::Take(const v1::ChiefMessage& message) {
  if (message.has_resume() && behaviour_.in_place_of_resumed) {
    return behaviour_.in_place_of_resumed(*this);
  }
  if (message.has_renew_lease() && !behaviour_.renews) return;
  if (message.has_rendezvous_reply() && behaviour_.when_replied) {
    behaviour_.when_replied(*this, message.rendezvous_reply());
  }
  const std::lock_guard lock(mutex_);
  if (!message.has_start()) return Receive(message);
  StartRanks(behaviour_.when_started != nullptr);
  if (behaviour_.when_started) {
    lying_ = std::jthread([this] { behaviour_.when_started(*this); });
  } else {
    ExitAll(0);
  }
}

bool LyingSession::Send(const v1::AgentEvent& event) {
  const std::lock_guard lock(mutex_);
  return SimulatedAgent::Send(event);
}

bool LyingSession::SendReliably(const v1::AgentEvent& event) {
  const std::lock_guard lock(mutex_);
  return SimulatedAgent::SendReliably(event);
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() == 1 && arguments[0] == "--list") {
    for (const Lie& lie : Lies()) std::printf("%s\n", lie.name);
    return 0;
  }
  const auto lie = std::ranges::find_if(
      Lies(), [&](const Lie& one) { return !arguments.empty() && arguments[0] == one.name; });
  if (lie == Lies().end() || arguments.size() < 2) return 2;
  Behaviour behaviour;
  lie->apply(behaviour);
  signal(SIGPIPE, SIG_IGN);
  if (arguments[1] == "clean") {
    return behaviour.clean ? behaviour.clean() : 0;
  }
  if (arguments.size() > 4) Attach(behaviour, arguments[2], arguments[4]);
  return 1;
}

}  // namespace autodist::hostile

int main(int argc, char** argv) { return autodist::hostile::Main({argv + 1, argv + argc}); }
