// An agent of the tests' own that lies to its chief: it keeps to the protocol but for what one lie
// changes. A lie is a function that sets some of these.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "autodist/v1/agent.grpc.pb.h"

namespace autodist::hostile {

using Stream = grpc::ServerReaderWriter<v1::AgentEvent, v1::ChiefMessage>;

// One session with the chief, as a lie sees it.
class Teller {
 public:
  Teller(Stream& stream, const v1::PrepareRequest& prepared)
      : stream_(stream), prepared_(prepared) {}

  // The numbers of what should run here.
  std::vector<uint32_t> ranks() const;
  // False: the chief has broken off.
  bool Tell(const v1::AgentEvent& event) {
    const std::lock_guard lock(mutex_);
    return stream_.Write(event);
  }
  bool TellNumbered(v1::AgentEvent event);
  // Until the chief breaks off, or this many times.
  void Flood(const v1::AgentEvent& event, int times = 1 << 30) {
    for (int i = 0; i < times && Tell(event); ++i) {
    }
  }

 private:
  Stream& stream_;
  const v1::PrepareRequest& prepared_;
  std::mutex mutex_;
  uint64_t sequence_ = 0;
};

// What the chief wants in the midst of a synchronisation.
struct SyncOrder {
  const v1::SyncRequest& request;
  const std::vector<v1::FileEntry>& entries;
  const std::function<bool(const v1::SyncResponse&)>& write;
};

struct Behaviour {
  // In place of the line that says that it is ready; false: the program ends.
  std::function<bool(const std::string& nonce)> before_ready;
  std::function<void()> after_greeting;
  std::function<grpc::Status(grpc::ServerContext&, const v1::PrepareRequest&, v1::PrepareResponse&)>
      prepare;
  std::function<void(const v1::OpenPortsRequest&, v1::OpenPortsResponse&)> open_ports;
  std::function<void(const v1::TryPortsRequest&, v1::TryPortsResponse&)> try_ports;
  // What is written once a list has been read.
  std::function<void(uint64_t entries, const std::function<bool(const v1::SyncResponse&)>& write)>
      sync;
  // In place of a port at which others get the files; and of those that it could not get.
  std::function<void(const SyncOrder& order)> pass_on;
  std::function<void(const SyncOrder& order)> get_passed;
  std::function<void(Teller&)> in_place_of_resumed;
  std::function<void(Teller&)> when_started;  // in place of that its ranks have, on a thread
  bool renews = true;                         // answers the chief's renewals
  bool exits = true;                          // its ranks end when they are told to
  std::function<int()> clean;                 // in place of what `clean` does; its exit code
};

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
void NoWayToEnd(Teller& teller);

}  // namespace autodist::hostile
