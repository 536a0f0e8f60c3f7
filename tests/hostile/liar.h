// An agent of the tests' own that lies to its chief: it keeps to the protocol but for what one lie
// changes. A lie is a function that sets some of these.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agent_sim/simulated_agent.h"
#include "autodist/v1/agent.grpc.pb.h"

namespace autodist::hostile {

using Stream = grpc::ServerReaderWriter<v1::AgentEvent, v1::ChiefMessage>;

struct Behaviour;

// One session with the chief. It is all that this process knows, as each connection of the chief's
// is to a process of its own. Thread-safe but for Take, which is for the thread that reads.
class LyingSession final : private test::SimulatedAgent {
 public:
  LyingSession(const Behaviour& behaviour, const v1::PrepareRequest& prepared, Stream& stream);

  void Take(const v1::ChiefMessage& message);

  // Of those that should run here.
  uint32_t first_rank() const { return *ranks().begin(); }
  // False: the chief has broken off.
  bool Send(const v1::AgentEvent& event);
  bool SendReliably(const v1::AgentEvent& event);
  // Until the chief breaks off, or this many times.
  void Flood(const v1::AgentEvent& event, int times = 1 << 30) {
    for (int i = 0; i < times && Send(event); ++i) {
    }
  }

 private:
  bool Deliver(v1::AgentEvent event) override { return stream_.Write(event); }

  const Behaviour& behaviour_;
  Stream& stream_;
  std::mutex mutex_;  // of the simulated agent
  std::jthread lying_;
};

using WriteSync = std::function<bool(const v1::SyncResponse&)>;

// What the chief wants in the midst of a synchronisation.
struct SyncOrder {
  const v1::SyncRequest& request;
  const std::vector<v1::FileEntry>& entries;
  const WriteSync& write;
};

struct Behaviour {
  // In place of the line that says that it is ready, or of all that follows the greeting; then the
  // program ends.
  std::function<void(const std::string& nonce)> in_place_of_ready;
  std::function<void()> after_greeting;
  std::function<grpc::Status(grpc::ServerContext&, const v1::PrepareRequest&, v1::PrepareResponse&)>
      prepare;
  std::function<void(const v1::OpenPortsRequest&, v1::OpenPortsResponse&)> open_ports;
  std::function<void(const v1::TryPortsRequest&, v1::TryPortsResponse&)> try_ports;
  // What is written once a list has been read.
  std::function<void(uint64_t entries, const WriteSync& write)> sync;
  // In place of a port at which others get the files; and of those that it could not get.
  std::function<void(const SyncOrder& order)> relay;
  std::function<void(const SyncOrder& order)> get_passed;
  std::function<void(LyingSession&)> in_place_of_resumed;
  std::function<void(LyingSession&)> when_started;  // in place of that its ranks have, on a thread
  bool renews = true;                               // answers the chief's renewals
  bool exits = true;                                // its ranks obey Stop and End
  std::function<int()> clean;                       // in place of what `clean` does; its exit code
};

// A lie that is one of them.
template <auto part, auto lie>
void Set(Behaviour& behaviour) {
  behaviour.*part = lie;
}

struct Lie {
  const char* name;
  void (*tell)(Behaviour& behaviour);
};

const std::vector<Lie>& Lies();
// Of these.
const std::vector<Lie>& SessionLies();
const std::vector<Lie>& PassingOnLies();

inline constexpr size_t kMiB = 1 << 20;

// Until the chief has hung up, which ends the process.
[[noreturn]] void Forever();

// What many end with: a rank that ended, but not how.
void NoWayToEnd(LyingSession& agent);

}  // namespace autodist::hostile
