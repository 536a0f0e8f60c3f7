// The state machine of one node as a table of transitions and actions. Pure logic;
// docs/explanation/state_machines.md has the table, generated from the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "autodist/v1/job.pb.h"

namespace autodist::chief {

enum class NodeState : uint8_t {
  kUnknown,        // the chief has not begun to reach it
  kConnecting,     // the chief logs in
  kBootstrapping,  // its agent is being installed or started
  kProbing,        // files are sent; its agent prepares the node and reports what it found
  kLinked,         // a session is open, on which its agent has not answered yet
  kReturned,       // the same, after the node was lost: ranks of an earlier attempt may run there
  kReady,          // its agent runs no ranks and is prepared for an attempt
  kSpare,          // as kReady; the attempt runs without it
  kMember,         // ranks of the attempt run there, or are about to
  kStopping,       // its ranks have been asked to end
  kDraining,       // its agent was ordered to end everything of any attempt
  kDrained,        // nothing of any attempt is left there
  kDisconnected,   // no connection, or no answer; the chief reconnects until the lease is over
  kGone,           // its agent has exited as ordered
  kLost,           // given up; its processes end with its lease
  kQuarantined,    // it broke a rule of the protocol; it is never connected again
};
inline constexpr size_t kNodeStates = 16;

enum class NodeEvent : uint8_t {
  kConnect,     // the launcher begins to log in
  kBootstrap,   // the launcher is logged in
  kProbe,       // the agent is installed
  kLink,        // a session is opened
  kAnswer,      // the agent has answered on it
  kPrepare,     // it is prepared for another attempt
  kChoose,      // an attempt begins with it
  kPassOver,    // an attempt begins without it
  kStop,        // its ranks are asked to end
  kDrain,       // everything that runs there is ordered to end
  kDismiss,     // as kDrain, and its agent is ordered to exit
  kRanksEnded,  // its agent reports that nothing is left
  kBreak,       // the connection broke
  kLeave,       // its agent has exited as ordered
  kEvict,       // its scheduler will take it away soon
  kLost,        // its lease is over, or its agent exited without an order
  kRefuse,      // it sent something that breaks a rule
};
inline constexpr size_t kNodeEvents = 17;

// The action that a transition requires.
enum class NodeAction : uint8_t {
  kNone,
  kOpenSession,
  kBeginStreams,  // ranks' output begins at offset 0 again
  kSendEnd,
  kReconnect,
  kReportEviction,
  kReportLoss,
};

struct NodeTransition {
  NodeState to;
  NodeAction action;
};
// Does not know the state that a kDisconnected node keeps; NodeMachine does.
NodeTransition Follow(NodeState from, NodeEvent event);

// A row of the table: in any of the `from` states, the event leads to `to`, or with `stays` to the
// same state.
struct NodeRule {
  NodeEvent event;
  uint32_t from;  // bits, by state
  NodeState to;
  bool stays;
  NodeAction action;
  const char* why;
};
std::span<const NodeRule> NodeRules();

// The phase that `autodist status` shows.
v1::NodePhase PhaseOf(NodeState state);
// Returns whether its agent works for the job, or may again soon.
bool IsAlive(NodeState state);
const char* NameOf(NodeState state);
const char* NameOf(NodeEvent event);
const char* NameOf(NodeAction action);

// The state machine of one node. A disconnected node keeps its previous state: orders sent
// meanwhile reach it later, so their events change the kept state by the same table.
class NodeMachine {
 public:
  // Returns the required action. `why` becomes the detail if the phase changes.
  NodeAction Take(NodeEvent event, const std::string& why = "");

  NodeState state() const { return state_; }
  v1::NodePhase phase() const { return PhaseOf(state_); }
  bool alive() const { return IsAlive(state_); }
  bool disconnected() const { return state_ == NodeState::kDisconnected; }
  // Returns whether the node is alive and nothing of any attempt is left on it.
  bool drained() const {
    return role() == NodeState::kReady || role() == NodeState::kSpare ||
           role() == NodeState::kDrained;
  }
  // Returns whether it was ordered to end everything that runs there.
  bool draining() const { return role() == NodeState::kDraining || role() == NodeState::kDrained; }
  // Returns whether its scheduler will take it away soon.
  bool evicted() const { return evicted_; }
  // Why it is in its phase.
  const std::string& detail() const { return detail_; }

 private:
  NodeState role() const { return disconnected() ? before_ : state_; }

  NodeState state_ = NodeState::kUnknown;
  NodeState before_ = NodeState::kUnknown;  // state before the break
  bool evicted_ = false;
  std::string detail_;
};

}  // namespace autodist::chief
