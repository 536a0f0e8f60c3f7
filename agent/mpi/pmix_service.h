// Where the ranks of an MPI program find their world without mpirun: the PMIx server of this node.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "agent/link/event_queue.h"
#include "agent/link/rendezvous_service.h"
#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"

namespace autodist::agent {

// Listens on the loopback interface from the first Join on, until the process ends; what it does
// not know of itself it asks the chief. One at a time in a process, as PMIx has it. Thread-safe.
class PmixService {
 public:
  // `folder` is made, private to the user, when the first world is; it is for the server's files
  // and the ranks'.
  PmixService(EventQueue& events, RendezvousService& rendezvous, std::string folder)
      : events_(events), rendezvous_(rendezvous), folder_(std::move(folder)) {}
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
  Status Register(const v1::PmixWorld& world, const v1::PmixNode& own, v1::NodePlan& node);
  Status RegisterRanks(const std::string& name_space, v1::NodePlan& node) const;
  std::string RankFolder(uint32_t rank) const;

  EventQueue& events_;
  RendezvousService& rendezvous_;
  const std::string folder_;
  std::mutex join_mutex_;          // held by Join and Leave
  std::vector<std::string> left_;  // names of worlds that are over; guarded by join_mutex_
  std::mutex mutex_;
  // Guarded by mutex_.
  std::string name_space_;    // "": none
  uint32_t world_size_ = 0;   // ranks
  std::set<uint32_t> ranks_;  // on this node
};

}  // namespace autodist::agent
