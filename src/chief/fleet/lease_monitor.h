// Renews the leases of all nodes; detects silent agents and expired leases.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "chief/fleet/all_hold.h"
#include "chief/fleet/deadlines.h"
#include "chief/fleet/fleet_node.h"
#include "chief/fleet/rank_ledger.h"
#include "chief/loop/loop.h"

namespace autodist::chief {

// Used on the loop's thread only.
class LeaseMonitor {
 public:
  struct Events {
    // Its agent has not answered within LeaseTimer's limit.
    std::function<void(uint32_t node)> silent;
    // It was disconnected for a whole lease.
    std::function<void(uint32_t node)> expired;
    // Returns whether a connection to it is being made.
    std::function<bool(uint32_t node)> being_linked;
  };

  // `loop`, `nodes` and `ledger` must outlive it; nodes may be added until the first call.
  LeaseMonitor(std::chrono::milliseconds renewal, size_t count, Loop& loop,
               std::vector<FleetNode>& nodes, const RankLedger& ledger, Events events);

  void Renew(uint32_t node);
  void RenewAll();
  // Returns whether every connected node has answered the last renewal, and so has received all
  // earlier messages.
  bool AllRenewed() const;
  // Called when a node may have to be checked earlier; a later check needs no call.
  void CheckSoon(uint32_t node) { deadlines_.SetEarlier(node, loop_.Now()); }

  // Does the work that is due; returns when to call it again.
  Loop::Time Tick();

 private:
  Loop::Time Check(uint32_t node);

  const std::chrono::milliseconds renewal_;  // interval
  Loop& loop_;
  std::vector<FleetNode>& nodes_;
  const RankLedger& ledger_;  // leases of overdue ranks are not renewed
  const Events events_;
  Loop::Time renew_at_;
  Deadlines deadlines_;
  mutable AllHold all_;
};

}  // namespace autodist::chief
