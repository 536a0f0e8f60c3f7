// libFuzzer: the agent's service survives all messages of a chief, and admits no one without a key.
// The first byte chooses; then come messages, each after its length, or a greeting.
#include <google/protobuf/io/coded_stream.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>

#include "agent/link/admission.h"
#include "fuzz/check.h"
#include "rpc/bootstrap_lines.h"
#include "support/small_agent.h"

namespace autodist::agent {
namespace {

constexpr uint64_t kLastRenewal = 0xA1B2C3D4E5F6;
constexpr std::chrono::seconds kLimit{5};

v1::ChiefMessage OurResume() {
  v1::ChiefMessage message;
  message.mutable_resume();
  return message;
}

// Sends the messages to an agent in one session, and waits until it has processed all of them.
void Messages(const uint8_t* data, size_t size) {
  test::SmallAgent agent;
  const auto stub = v1::AgentService::NewStub(agent.server->Channel());
  grpc::ClientContext context;
  const auto session = stub->Session(&context);
  google::protobuf::io::CodedInputStream input(data, static_cast<int>(size));
  uint64_t last_order = 0;
  for (uint32_t length = 0; input.ReadVarint32(&length);) {
    std::string bytes;
    const int left = static_cast<int>(size) - input.CurrentPosition();
    input.ReadString(&bytes, std::min(static_cast<int>(length & 0xFFFFF), left));
    v1::ChiefMessage message;
    if (!message.ParseFromString(bytes)) continue;
    if (message.renew_lease().number() == kLastRenewal) continue;
    last_order = std::max(last_order, message.sequence());
    if (!session->Write(message)) break;
  }
  v1::ChiefMessage last;
  last.mutable_renew_lease()->set_number(kLastRenewal);
  session->Write(OurResume());
  session->Write(last);
  uint64_t sequence = 0;
  v1::AgentEvent event;
  while (session->Read(&event) && event.lease_renewed().number() != kLastRenewal) {
    Check(event.acknowledged() <= last_order, "an order is acknowledged that was not given");
    if (event.sequence() == 0) continue;
    Check(event.sequence() > sequence, "an event comes twice");
    sequence = event.sequence();
  }
  context.TryCancel();
  session->Finish();
}

bool Opens(const std::string& greeting, const std::string& key) {
  return greeting.size() >= rpc::kGreetingSize &&
         (greeting.substr(0, rpc::kKeySize) == key ||
          greeting.substr(rpc::kKeySize, rpc::kKeySize) == key);
}

base::UniqueFd Socket() { return base::UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

// Sends a greeting to the chief's socket of an agent with a key of 'k' bytes.
void Greeting(const std::string& greeting) {
  static v1::AgentService::Service service;
  static test::GrpcServer server{&service};
  const std::string key(rpc::kKeySize, 'k');
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socklen_t length = sizeof(sa_family_t);  // the kernel chooses a name
  base::UniqueFd door = Socket();
  Check(bind(door.get(), reinterpret_cast<sockaddr*>(&address), length) == 0, "bind");
  length = sizeof address;
  getsockname(door.get(), reinterpret_cast<sockaddr*>(&address), &length);
  listen(door.get(), 8);
  auto stop = base::Pipe();
  Admission admission({std::move(door), Socket(), {}}, server.server(), server.server());
  admission.SetKey(key);
  std::jthread running([&] { admission.Run(stop->first.get(), {}); });
  const base::UniqueFd visitor = Socket();
  Check(connect(visitor.get(), reinterpret_cast<sockaddr*>(&address), length) == 0, "connect");
  // The connection may be closed before all data is sent.
  (void)base::WriteAll(visitor.get(), greeting, base::Deadline::After(kLimit)).ok();
  shutdown(visitor.get(), SHUT_WR);
  char byte;
  const auto received = base::ReadSome(visitor.get(), &byte, 1, base::Deadline::After(kLimit));
  const bool let_in = received.ok() && *received > 0;
  if (!Opens(greeting, key)) Check(!let_in, "let in without a key");
  stop->second.Reset();
}

}  // namespace
}  // namespace autodist::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace autodist::agent;
  if (size == 0) return 0;
  if (data[0] & 1) {
    Greeting(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  } else {
    Messages(data + 1, size - 1);
  }
  return 0;
}
