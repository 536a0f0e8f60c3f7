// One node over all its connections: orders outlive a broken one, and what the agent tells arrives
// once and in order.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "autodist/v1/agent.pb.h"
#include "chief/fleet/reliable_outbox.h"
#include "chief/fleet/session_keys.h"
#include "chief/loop/loop.h"
#include "launch/agent_rules.h"
#include "launch/node_link.h"

namespace autodist::chief {

// What comes from a node. Called on gRPC's threads, one call at a time for each node; must not
// block.
class NodeListener {
 public:
  // Once and in order, whatever connection it came by; what a session alone needs, on any.
  virtual void OnEvent(uint32_t node, v1::AgentEvent event) = 0;
  virtual void OnOutput(uint32_t node, v1::Output output) = 0;
  // The connection of this number has ended. OK: the agent has ended it, after Shutdown.
  virtual void OnClosed(uint32_t node, uint64_t connection, Status status) = 0;

 protected:
  ~NodeListener() = default;
};

// Thread-safe; no call blocks but for the destructor, Connect and Disconnect, which wait for the
// listener to return.
class Node {
 public:
  // `number` is what the listener is told. Both others must outlive the node; `loop` gives the
  // time.
  Node(uint32_t number, NodeListener& listener, const Loop& loop);
  ~Node();

  // What an agent is greeted with (rpc/bootstrap_lines.h).
  std::string Greeting() const;

  // Opens a session over the link, in place of an earlier one. Returns the connection's number.
  uint64_t Connect(const std::shared_ptr<launch::NodeLink>& link);
  // Returns what was the link, whose own end may take seconds.
  std::shared_ptr<launch::NodeLink> Disconnect();
  // The same at the end of the process.
  void DisconnectAtExit();
  // As the last Connect or Disconnect left it; null: none.
  std::shared_ptr<launch::NodeLink> link() const;
  uint64_t connection() const;
  // Whether the agent has answered on it.
  bool resumed() const;
  // Whether anything new has come by it.
  bool made_progress() const { return made_progress_; }

  // As one of its orders (chief/fleet/reliable_outbox.h).
  void SendReliably(v1::ChiefMessage message, std::shared_ptr<const std::string> value = nullptr);
  // Dropped where there is no connection.
  void SendIfConnected(v1::ChiefMessage message);

  // That a rank's output has been dealt with.
  void Acknowledge(const v1::OutputAck& ack);

  // Its agent is gone: nobody is left to receive what was not acknowledged.
  void DropUnacknowledged();

  // From now on rank streams begin at offset 0 again.
  void BeginAttempt();

  // An event of this cost (launch/agent_rules.h) has been dealt with.
  void Handled(size_t cost);

  // The number of the oldest order that its agent has not acknowledged; 0: none.
  uint64_t oldest_order() const;

  // Why the node is not believed any more; OK: it is.
  Status broken_rule() const;

  // When the agent itself was heard last: that its node takes a connection is no word of the
  // agent's.
  Loop::Time last_contact() const { return last_contact_; }

 private:
  // What has come from the agent that runs there now.
  struct Taken {
    uint64_t instance = 0;  // of agents
    uint64_t events = 0;
    std::map<std::pair<uint32_t, int>, uint64_t> bytes = {};  // by rank and stream
  };
  // Of one connection: its number, and what comes by it.
  class Connection;

  std::shared_ptr<launch::NodeLink> TakeLink();
  void Take(uint64_t connection, v1::AgentEvent event);
  void TakeIfAllowed(uint64_t connection, v1::AgentEvent event);
  void BreakIfRefused();
  bool IsAllowed(const v1::AgentEvent& event);
  bool TakeOutput(const v1::Output& output);  // false: it does not follow what came before
  void TakeResumed(const v1::AgentEvent& event);
  void TakeAcknowledged(uint64_t sequence);  // mutex_ held, as for those below
  void SendResume();
  void SendNow(v1::ChiefMessage message);
  void SendOrders();
  void Refuse(const Status& why);

  const uint32_t number_;
  NodeListener& listener_;
  const Loop& loop_;
  std::atomic<Loop::Time> last_contact_;
  std::atomic<bool> made_progress_ = false;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<launch::NodeLink> link_;
  std::unique_ptr<Connection> session_;  // over link_
  uint64_t connection_ = 0;
  bool resumed_ = false;
  SessionKeys keys_;
  ReliableOutbox orders_;
  launch::EventRules rules_;
  Status broken_rule_;
  Taken taken_;
};

}  // namespace autodist::chief
