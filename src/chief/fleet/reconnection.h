// Connects with nodes again: those whose connection broke, and those that were lost.
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "chief/fleet/fleet_node.h"
#include "chief/loop/loop.h"
#include "launch/launcher.h"

namespace autodist::chief {

// For the loop's thread.
class Reconnection {
 public:
  using Linked = std::function<void(const launch::LaunchedNode& linked)>;

  Reconnection(std::chrono::milliseconds lease, Loop& loop) : lease_(lease), loop_(loop) {}

  // By which to connect; without, a connection that breaks is not made again.
  void UseLauncher(launch::Launcher& launcher) { launcher_ = &launcher; }
  bool possible() const { return launcher_ != nullptr; }

  // Makes the connection again until the lease is over: at once where the one that broke was of any
  // use, else later each time. `linked` is called on the loop's thread, unless one is being made.
  void Resume(uint32_t number, FleetNode& node, Linked linked);
  // Tries to reach a lost node until the limit; likewise.
  void Reach(uint32_t number, Loop::Time limit, Linked linked);
  void GiveUp(uint32_t number) { launcher_->GiveUp(number); }
  // Whether a connection with it is being made.
  bool BeingLinked(uint32_t number) const { return linking_.contains(number); }
  const std::set<uint32_t>& linking() const { return linking_; }

  // Of a node whose connection has broken: by none of its connections has it acknowledged an order,
  // for two leases.
  bool IsNotAcking(FleetNode& node) const;

 private:
  // Whether the connection that has broken now was of any use.
  bool MadeProgress(const FleetNode& node) const;
  launch::Launcher::Done OnLoop(uint32_t number, Linked linked);

  const std::chrono::milliseconds lease_;
  Loop& loop_;
  launch::Launcher* launcher_ = nullptr;
  std::set<uint32_t> linking_;  // nodes that the launcher is busy with
};

}  // namespace autodist::chief
