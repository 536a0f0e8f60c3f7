// The PMIx server of a node, by which the ranks of an MPI program find each other without mpirun.
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

// The way to the chief. Both are thread-safe and do not block.
struct ChiefPort {
  // Kept until the chief has it.
  std::function<void(v1::AgentEvent event)> send_reliably;
  // `answer` is called at most once, on any thread, and must not block.
  std::function<void(v1::RendezvousRequest request, RendezvousAnswer answer)> ask;
};

// Listens on the loopback interface from the first Join on, until the process ends; what it does
// not know of itself it asks the chief. One at a time in a process, as PMIx has it. Thread-safe.
class PmixService {
 public:
  // `folder` is made, private to the user, when the first world is; it is for the server's files
  // and the ranks'.
  PmixService(ChiefPort chief, std::string folder)
      : chief_(std::move(chief)), folder_(std::move(folder)) {}
  // No rank may be left. Has PMIx remove what they left in shared memory; blocks for kForgetLimit
  // at most.
  ~PmixService();
  PmixService(const PmixService&) = delete;
  PmixService& operator=(const PmixService&) = delete;

  // Makes a world known to the ranks of `node` that are about to start, in place of an earlier
  // one, and adds the variables by which they find it to each one's environment. Blocks for some
  // 10 ms the first time.
  Status Join(const v1::PmixWorld& world, v1::NodePlan& node);
  // No rank is left: the world, if there is one, is over. Removes its ranks' folders.
  void Leave();

  // Of what a rank on this node has published, as soon as it has; told by an event.
  void Answer(const v1::ModexQuestion& question);

 private:
  struct Callbacks;  // of PMIx

  Status Start(const std::string& host_name) const;
  std::string RanksFolder() const { return folder_ + "/ranks"; }

  const ChiefPort chief_;
  const std::string folder_;
  std::mutex join_mutex_;                 // held by Join and Leave
  std::vector<std::string> past_worlds_;  // their names; guarded by join_mutex_
  std::mutex mutex_;
  // Guarded by mutex_.
  std::string name_space_;    // "": none
  uint32_t world_size_ = 0;   // ranks
  std::set<uint32_t> ranks_;  // on this node
};

}  // namespace autodist::agent
