// The life of one node of a job, as a table: which state follows which, and what is to be done
// then. Pure logic; docs/architecture.md has the table as it is drawn from here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "autodist/v1/job.pb.h"

namespace autodist::chief {

enum class NodeState : uint8_t {
  kUnknown,        // nothing has been done for it yet
  kConnecting,     // it is being logged in to
  kBootstrapping,  // its agent is being sent there, or started
  kProbing,        // files go there, and its agent prepares it and tells what there is
  kLinked,         // there is a session, on which its agent has not answered yet
  kReady,          // its agent runs no ranks, and is prepared for an attempt
  kSpare,          // the same, and the attempt goes on without it
  kMember,         // ranks of the attempt run there, or may
  kStopping,       // its ranks have been asked to end
  kDraining,       // what is left of any attempt has been told to end
  kDrained,        // nothing of any attempt is left there
  kDisconnected,   // the connection is broken, and is being made again until the lease is over
  kGone,           // its agent has ended as it was told
  kLost,           // it is given up; what is left there ends with its lease
  kQuarantined,    // it has broken a rule of the protocol, and is never connected with again
};
inline constexpr size_t kNodeStates = 15;

enum class NodeEvent : uint8_t {
  kConnect,     // the launcher begins to log in
  kBootstrap,   // it is logged in
  kProbe,       // the agent is there
  kLink,        // a session is being opened
  kAnswer,      // the agent has answered on it
  kPrepare,     // it is prepared for another attempt
  kChoose,      // an attempt begins, with it
  kPassOver,    // an attempt begins, without it
  kStop,        // ranks are asked to end
  kDrain,       // whatever runs there is told to end
  kDismiss,     // and so is its agent
  kRanksEnded,  // its agent says that nothing is left
  kBreak,       // the connection has broken
  kLeave,       // its agent has gone as it was told
  kEvict,       // its scheduler takes it away soon
  kLost,        // its lease is over, or its agent has gone by itself
  kRefuse,      // what it has sent breaks a rule
};
inline constexpr size_t kNodeEvents = 17;

// What has to be done because of a transition.
enum class NodeAction : uint8_t {
  kNone,
  kOpenSession,
  kRenewLease,
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
// Never kDisconnected's own: what a node is beside that is known to NodeMachine alone.
NodeTransition Follow(NodeState from, NodeEvent event);

// A row of the table: in any of these states the event leads to `to`; `stays`: to no other state.
struct NodeRule {
  NodeEvent event;
  uint32_t from;  // bits, by state
  NodeState to;
  bool stays;
  NodeAction action;
  const char* why;
};
std::span<const NodeRule> NodeRules();

// As the table and `autodist status` have it.
v1::NodePhase PhaseOf(NodeState state);
// Whether the agent there is, or may soon be, at work for the job.
bool IsAlive(NodeState state);
const char* NameOf(NodeState state);
const char* NameOf(NodeEvent event);
const char* NameOf(NodeAction action);

// The machine of one node. A node whose connection is broken goes on being what it was: what it is
// told meanwhile reaches it later, so events change that by the same table.
class NodeMachine {
 public:
  // Returns what has to be done. `why` becomes the detail where the phase changes by it.
  NodeAction Take(NodeEvent event, const std::string& why = "");

  NodeState state() const { return state_; }
  v1::NodePhase phase() const { return PhaseOf(state_); }
  bool alive() const { return IsAlive(state_); }
  bool disconnected() const { return state_ == NodeState::kDisconnected; }
  // Nothing of any attempt is left on a node that is alive.
  bool drained() const { return (disconnected() ? before_ : state_) == NodeState::kDrained; }
  // It was told to end what runs there.
  bool draining() const {
    return drained() || (disconnected() ? before_ : state_) == NodeState::kDraining;
  }
  // Its scheduler takes it away soon.
  bool evicted() const { return evicted_; }
  // Why it is in its phase.
  const std::string& detail() const { return detail_; }

 private:
  NodeState state_ = NodeState::kUnknown;
  NodeState before_ = NodeState::kUnknown;  // the connection broke
  bool evicted_ = false;
  std::string detail_;
};

}  // namespace autodist::chief
