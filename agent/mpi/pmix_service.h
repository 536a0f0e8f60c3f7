// The PMIx server of a node, with which the ranks of an MPI program connect without mpirun.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"

namespace autodist::agent {

using RendezvousAnswer = std::function<void(const v1::RendezvousReply& reply)>;

// The connection to the chief. Both functions are thread-safe and do not block.
struct ChiefPort {
  // Keeps the event until the chief has it.
  std::function<void(v1::AgentEvent event)> send_reliably;
  // `answer` is called at most once, on any thread, and must not block.
  std::function<void(v1::RendezvousRequest request, RendezvousAnswer answer)> ask;
};

// Listens on the loopback interface from the first Join until the process ends; asks the chief for
// unknown data. PMIx allows only one in a process. Thread-safe.
class PmixService {
 public:
  // `folder` is for files of the server and of ranks; it is created, private to the user, with the
  // first world.
  PmixService(ChiefPort chief, std::string folder)
      : chief_(std::move(chief)), folder_(std::move(folder)) {}
  // No rank may be left. Makes PMIx remove the ranks' shared memory; blocks for kForgetLimit at
  // most.
  ~PmixService();
  PmixService(const PmixService&) = delete;
  PmixService& operator=(const PmixService&) = delete;

  // Registers a world for the ranks of `node` that are about to start, replaces the previous one,
  // and adds the necessary variables to the environment of each rank. The first call blocks for
  // some 10 ms.
  Status Join(const v1::PmixWorld& world, v1::NodePlan& node);
  // No rank is left: unregisters the world, if any. Removes the ranks' folders.
  void Leave();

  // Answers, by an event, with the data that a rank on this node has published, as soon as it
  // exists.
  void Answer(const v1::ModexQuestion& question);

 private:
  struct Callbacks;  // called by PMIx

  Status Start(const std::string& host_name) const;
  std::string RanksFolder() const { return folder_ + "/ranks"; }

  const ChiefPort chief_;
  const std::string folder_;
  std::mutex join_mutex_;                 // held by Join and Leave
  std::vector<std::string> past_worlds_;  // names; guarded by join_mutex_
  std::mutex mutex_;
  // Guarded by mutex_.
  std::string name_space_;    // "": no world
  uint32_t world_size_ = 0;   // number of ranks
  std::set<uint32_t> ranks_;  // on this node
};

}  // namespace autodist::agent
