// Connects to every node of a plan in parallel, and prepares it. Starts no rank.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "autodist/v1/diagnosis.pb.h"
#include "autodist/v1/plan.pb.h"
#include "base/deadline.h"
#include "launch/launch_options.h"
#include "launch/node_link.h"

namespace autodist::launch {

// The result for one node.
struct LaunchedNode {
  uint32_t node_rank;
  Status status;                     // whether the agent answered
  std::shared_ptr<NodeLink> link;    // null if it did not
  v1::PrepareResponse prepared;      // if it has issues, the node cannot run ranks
  int64_t clock_offset_ns = 0;       // its clock minus ours
  v1::Check step = v1::CHECK_LOGIN;  // the one that a failure is about
};

// Returns by how much our clock and the one that `time` is from differ at least, in nanoseconds: it
// was read between `sent` and `received` on our clock.
int64_t ClockOffset(int64_t time, int64_t sent, int64_t received);

// Must outlive the links. Not thread-safe except for Cancel; `done` is called on threads of the
// launcher. Only one call at a time may be in progress for a node.
class Launcher {
 public:
  using Done = std::function<void(LaunchedNode node)>;

  // Creates one that connects as the plan says. `plan` must outlive it. Fails if the agent's
  // program cannot be read.
  static Result<std::unique_ptr<Launcher>> Create(const v1::LaunchPlan& plan,
                                                  LaunchOptions options);
  // Cancels connections in progress.
  virtual ~Launcher() = default;

  // Returns at once; `done` is called exactly once for each node.
  virtual void Start(const Done& done) = 0;

  // Waits, and then reconnects to the agent of a node whose connection, `broken`, broke; retries
  // until the deadline. A ProofOfEnd: that agent has ended.
  virtual void Resume(uint32_t node_rank, std::chrono::milliseconds wait, base::Deadline deadline,
                      std::shared_ptr<NodeLink> broken, Done done) = 0;
  // The same without waiting first, and starts an agent if it is missing. `broken` may be null.
  virtual void Reach(uint32_t node_rank, base::Deadline deadline, std::shared_ptr<NodeLink> broken,
                     Done done) = 0;
  // Cancels the Resume, Reach or Prepare that is in progress for the node.
  virtual void GiveUp(uint32_t node_rank) = 0;
  // The last failure of the Resume or Reach that is in progress for the node; OK: none yet.
  virtual Status LastFailure(uint32_t node_rank) const = 0;
  // Prepares a node for another attempt. `request` may omit what is the same in all attempts.
  virtual void Prepare(uint32_t node_rank, v1::PrepareRequest request,
                       std::shared_ptr<NodeLink> link, Done done) = 0;

  // Nodes not yet connected fail with kCancelled.
  virtual void Cancel() = 0;
  // Cancels, and waits until `done` can no longer be called.
  virtual void Stop() = 0;
};

}  // namespace autodist::launch
