// An agent for tests that lies to its chief: it follows the protocol except for one lie. A lie is a
// function that sets some members of Behaviour.
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

// One session with the chief. Each connection of the chief is served by a separate process, which
// has one session. Thread-safe except for Take, which belongs to the reading thread.
class LyingSession final : private test::SimulatedAgent {
 public:
  LyingSession(const Behaviour& behaviour, const v1::PrepareRequest& prepared, Stream& stream);

  void Take(const v1::ChiefMessage& message);

  // The first of the ranks that should run here.
  uint32_t first_rank() const { return *ranks().begin(); }
  const std::string& name_space() const { return name_space_; }  // of PMIx
  // Returns false if the chief has disconnected.
  bool Send(const v1::AgentEvent& event);
  bool SendReliably(const v1::AgentEvent& event);
  // Repeats the event until the chief disconnects, or this many times.
  void Flood(const v1::AgentEvent& event, int times = 1 << 30) {
    for (int i = 0; i < times && Send(event); ++i) {
    }
  }

 private:
  bool Deliver(v1::AgentEvent event) override { return stream_.Write(event); }

  const Behaviour& behaviour_;
  const std::string name_space_;
  Stream& stream_;
  std::mutex mutex_;  // of the simulated agent
  std::jthread lying_;
};

using WriteSync = std::function<bool(const v1::SyncResponse&)>;

// The chief's request during a synchronisation.
struct SyncOrder {
  const v1::SyncRequest& request;
  const std::vector<v1::FileEntry>& entries;
  const WriteSync& write;
};

struct Behaviour {
  // Replaces the ready line, or everything after the greeting; then the program ends.
  std::function<void(const std::string& nonce)> in_place_of_ready;
  std::function<void()> after_greeting;
  std::function<grpc::Status(grpc::ServerContext&, const v1::PrepareRequest&, v1::PrepareResponse&)>
      prepare;
  std::function<void(const v1::OpenPortsRequest&, v1::OpenPortsResponse&)> open_ports;
  std::function<void(const v1::TryPortsRequest&, v1::TryPortsResponse&)> try_ports;
  // Writes the answer after a list has been read.
  std::function<void(uint64_t entries, const WriteSync& write)> sync;
  // Replace the port that serves files to others, and the answer about files that could not be
  // fetched.
  std::function<void(const SyncOrder& order)> relay;
  std::function<void(const SyncOrder& order)> get_passed;
  std::function<void(LyingSession&)> in_place_of_resumed;
  std::function<void(LyingSession&)> when_started;  // replaces what its ranks do, on a thread
  std::function<void(LyingSession&, const v1::RendezvousReply&)> when_replied;
  bool renews = true;          // answers the chief's renewals
  bool exits = true;           // its ranks obey Stop and End
  std::function<int()> clean;  // replaces `clean`; returns the exit code
};

// Sets one part of the behaviour.
template <auto part, auto lie>
void Set(Behaviour& behaviour) {
  behaviour.*part = lie;
}

struct Lie {
  const char* name;
  void (*apply)(Behaviour& behaviour);
};

const std::vector<Lie>& Lies();
// Subsets of Lies().
const std::vector<Lie>& SessionLies();
const std::vector<Lie>& PassingOnLies();

inline constexpr size_t kMiB = 1 << 20;

// Blocks until the chief disconnects, which ends the process.
[[noreturn]] void Forever();

// A common last step: a rank ended without a way it ended.
void NoWayToEnd(LyingSession& agent);

}  // namespace autodist::hostile
