// One node of the fleet, with its session, state, lease and clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "autodist/status.h"
#include "base/backoff.h"
#include "chief/fleet/lease_timer.h"
#include "chief/fleet/node.h"
#include "chief/fleet/node_clock.h"
#include "chief/fleet/node_machine.h"

namespace autodist::chief {

struct FleetNode {
  FleetNode(std::unique_ptr<Node> its_session, LeaseTimer its_lease)
      : session(std::move(its_session)), lease(its_lease) {}

  // Returns whether messages reach its agent now.
  bool connected() const { return machine.alive() && !machine.disconnected(); }

  std::unique_ptr<Node> session;
  NodeMachine machine;
  LeaseTimer lease;
  NodeClock clock;
  std::optional<uint32_t> member;  // of the attempt, by its rank in the attempt's plan
  Status lost_because;
  uint64_t end_generation = 0;  // of the latest order to end
  uint64_t continued_at = 0;    // the last renewal before the chief continued after Ctrl-Z
  // For its reconnection.
  std::optional<base::Backoff> backoff;  // while its connections make no progress
  uint64_t unacked = 0;                  // a message that it has not acknowledged
  Loop::Time unacked_since{};
};

}  // namespace autodist::chief
