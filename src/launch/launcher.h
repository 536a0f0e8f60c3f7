// Reaches every node of a plan, all at the same time, and makes it ready. Starts no rank.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "autodist/v1/plan.pb.h"
#include "base/deadline.h"
#include "launch/launch_options.h"
#include "launch/node_link.h"

namespace autodist::launch {

// How one node turned out.
struct LaunchedNode {
  uint32_t node_rank;
  Status status;                   // whether the agent answered
  std::shared_ptr<NodeLink> link;  // null where it did not
  v1::PrepareResponse prepared;    // its issues, if any, keep the node from running ranks
  int64_t clock_offset_ns = 0;     // its clock less ours
};

// Must outlive the links. Not thread-safe but for Cancel; `done` is called on threads of the
// launcher. A node is worked on by one call at a time.
class Launcher {
 public:
  using Done = std::function<void(LaunchedNode node)>;

  // One that reaches the nodes as the plan says. `plan` must outlive it. Fails where the agent's
  // program cannot be read.
  static Result<std::unique_ptr<Launcher>> Create(const v1::LaunchPlan& plan,
                                                  LaunchOptions options);
  // Gives up on nodes that are still being reached.
  virtual ~Launcher() = default;

  // Returns at once; `done` is called exactly once for each node.
  virtual void Start(const Done& done) = 0;

  // Waits, and connects again with the agent of a node whose connection, `broken`, broke, for as
  // long as it takes until the deadline. kAborted: that agent is gone.
  virtual void Resume(uint32_t node_rank, std::chrono::milliseconds wait, base::Deadline deadline,
                      std::shared_ptr<NodeLink> broken, Done done) = 0;
  // Connects with the agent of a node, starting one where there is none.
  virtual void Reach(uint32_t node_rank, base::Deadline deadline, Done done) = 0;
  // Ends the Resume, Reach or Prepare that is under way for the node.
  virtual void GiveUp(uint32_t node_rank) = 0;
  // Prepares a node for another attempt. What is the same in all attempts need not be in `request`.
  virtual void Prepare(uint32_t node_rank, v1::PrepareRequest request,
                       std::shared_ptr<NodeLink> link, Done done) = 0;

  // Nodes not yet reached turn out as cancelled.
  virtual void Cancel() = 0;
  // Cancel, and waits until `done` will not be called any more.
  virtual void Stop() = 0;
};

}  // namespace autodist::launch
