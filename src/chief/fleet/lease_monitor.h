// Renews the leases of all nodes, and notices which agents are silent, and whose lease is over.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "chief/fleet/all_hold.h"
#include "chief/fleet/deadlines.h"
#include "chief/fleet/fleet_node.h"
#include "chief/loop/loop.h"

namespace autodist::chief {

// For the loop's thread.
class LeaseMonitor {
 public:
  struct Events {
    // Its agent has not answered for so long.
    std::function<void(uint32_t node, std::chrono::milliseconds silent)> silent;
    // It was disconnected for a whole lease.
    std::function<void(uint32_t node)> expired;
    // Whether a connection with it is being made.
    std::function<bool(uint32_t node)> being_linked;
  };

  // `loop` and `nodes`, to which nodes may be added until the first call, must outlive it.
  LeaseMonitor(std::chrono::milliseconds renewal, size_t count, Loop& loop,
               std::vector<FleetNode>& nodes, Events events);

  void Renew(uint32_t node);
  void RenewAll();
  // Whether every node that is connected has answered the last renewal, and so has received what
  // it was sent before.
  bool AllRenewed() const;
  // Whatever changes when a node has to be checked calls it; what only puts that off need not.
  void CheckSoon(uint32_t node) { deadlines_.SetEarlier(node, loop_.Now()); }
  // The chief itself has been stopped until now.
  void ResetSilenceTimers();

  // Does what is due; returns when to be called again.
  Loop::Time Tick();

 private:
  Loop::Time Check(uint32_t node);

  const std::chrono::milliseconds renewal_;  // the interval
  Loop& loop_;
  std::vector<FleetNode>& nodes_;
  const Events events_;
  Loop::Time renew_at_;
  Deadlines deadlines_;
  mutable AllHold all_;
};

}  // namespace autodist::chief
