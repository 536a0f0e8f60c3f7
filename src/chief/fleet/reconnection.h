// Reconnects nodes whose connection broke, and lost nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "chief/fleet/fleet_node.h"
#include "chief/loop/loop.h"
#include "launch/launcher.h"

namespace autodist::chief {

// Used on the loop's thread only.
class Reconnection {
 public:
  using Linked = std::function<void(const launch::LaunchedNode& linked)>;

  Reconnection(std::chrono::milliseconds lease, Loop& loop) : lease_(lease), loop_(loop) {}

  // Sets the launcher that connects; without one, broken connections are not made again.
  void UseLauncher(launch::Launcher& launcher) { launcher_ = &launcher; }
  bool possible() const { return launcher_ != nullptr; }

  // Reconnects until the lease is over: at once if the broken connection made progress, else with
  // an increasing delay. Does nothing if a connection is being made; else calls `linked` on the
  // loop's thread.
  void Resume(uint32_t number, FleetNode& node, Linked linked);
  // Tries to reach a lost node until the limit; calls `linked` as Resume does. `same`: only the
  // same agent.
  void Reach(uint32_t number, FleetNode& node, Loop::Time limit, bool same, Linked linked);
  void GiveUp(uint32_t number) { launcher_->GiveUp(number); }
  // The last failure of the connection that is being made; OK: none yet.
  Status LastFailure(uint32_t number) const { return launcher_->LastFailure(number); }
  // Returns whether a connection to it is being made.
  bool BeingLinked(uint32_t number) const { return linking_.contains(number); }
  const std::set<uint32_t>& linking() const { return linking_; }

  // For a node whose connection broke: returns whether it has acknowledged no order for two leases,
  // on any connection.
  bool IsNotAcking(FleetNode& node) const;

 private:
  // Returns whether the connection that just broke was useful.
  bool MadeProgress(const FleetNode& node) const;
  launch::Launcher::Done OnLoop(uint32_t number, Linked linked);

  const std::chrono::milliseconds lease_;
  Loop& loop_;
  launch::Launcher* launcher_ = nullptr;
  std::set<uint32_t> linking_;  // nodes that the launcher is connecting
};

}  // namespace autodist::chief
