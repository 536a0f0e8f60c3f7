#include "remote_shell.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "autodist/v1/agent.grpc.pb.h"
#include "rpc/channel.h"

namespace autodist::agent {
namespace {

constexpr int kNotRun = 255;
constexpr std::chrono::seconds kHandOverLimit{30};
// Of one call; what waits for a command asks again.
constexpr std::chrono::hours kWaitLimit{1};

std::string KeyOf(const std::string& address) { return "autodist/remote-shell/" + address; }

int NotRun(const std::string& why) {
  std::fprintf(stderr, "autodist: remote shell: %s\n", why.c_str());
  return kNotRun;
}

// Null outside a job.
std::unique_ptr<v1::RendezvousService::Stub> JobRendezvous() {
  const char* socket = std::getenv("AUTODIST_AGENT_SOCKET");
  return socket ? v1::RendezvousService::NewStub(rpc::ChannelTo(socket)) : nullptr;
}

}  // namespace

int RemoteShell(int argc, char** argv) {
  int at = 2;
  while (at < argc && argv[at][0] == '-') ++at;  // options for ssh
  if (at + 1 >= argc) return NotRun("a host and a command are needed");
  const std::string host = argv[at++];
  // As ssh has it: the words, with spaces between them, are a line for the node's shell.
  std::string line = argv[at++];
  while (at < argc) line += std::string(" ") + argv[at++];

  const auto rendezvous = JobRendezvous();
  if (!rendezvous) return NotRun("this is not part of a job");
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kHandOverLimit);
  v1::SetRequest request;
  request.set_key(KeyOf(host));
  request.set_value(line);
  v1::SetResponse response;
  const Status set = rpc::FromGrpc(rendezvous->Set(&context, request, &response));
  return set.ok() ? 0 : NotRun(host + ": " + Message(set));
}

int RemoteShellServer(int argc, char** argv) {
  if (argc != 3) return NotRun("an address is needed");
  const auto rendezvous = JobRendezvous();
  if (!rendezvous) return NotRun("this is not part of a job");
  v1::GetRequest request;
  request.set_key(KeyOf(argv[2]));
  v1::GetResponse response;
  for (;;) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kWaitLimit);
    const Status got = rpc::FromGrpc(rendezvous->Get(&context, request, &response));
    if (got.ok()) break;
    if (got.code() != StatusCode::kDeadlineExceeded) return NotRun(Message(got));
  }
  execl("/bin/sh", "sh", "-c", response.value().c_str(), nullptr);
  return NotRun(std::string("/bin/sh: ") + std::strerror(errno));
}

}  // namespace autodist::agent
