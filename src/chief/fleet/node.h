// One node across its connections: messages to the agent survive a broken connection, and events of
// the agent arrive once and in order.
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

// Receives events of a node. Called on gRPC's threads, one call at a time for each node; must not
// block.
class NodeListener {
 public:
  // Called once per event and in order across connections, except for events about a session
  // itself.
  virtual void OnEvent(uint32_t node, v1::AgentEvent event) = 0;
  virtual void OnOutput(uint32_t node, v1::Output output) = 0;
  // The connection with this number has ended. OK: the agent ended it, after Shutdown.
  virtual void OnClosed(uint32_t node, uint64_t connection, Status status) = 0;

 protected:
  ~NodeListener() = default;
};

// Thread-safe. Disconnect waits only for the listener to return. The destructor, and Connect while
// there is a link, block longer: they destroy it.
class Node {
 public:
  // `number` is passed to the listener. `listener` and `loop` must outlive the node; `loop` is the
  // clock.
  Node(uint32_t number, NodeListener& listener, const Loop& loop);
  ~Node();

  // Returns the greeting for the agent (rpc/bootstrap_lines.h).
  std::string Greeting() const;

  // Opens a session over the link and closes the previous one. Returns the connection's number.
  uint64_t Connect(const std::shared_ptr<launch::NodeLink>& link);
  // Detaches the link and returns it, if there is one: its end and destruction may take seconds.
  std::shared_ptr<launch::NodeLink> Disconnect();
  // The current link; null: disconnected.
  std::shared_ptr<launch::NodeLink> link() const;
  uint64_t connection() const;
  // Returns whether the agent has answered on this connection.
  bool resumed() const;
  // The agent that answered last (Resumed.instance); 0: none has.
  uint64_t instance() const;
  // Returns whether anything new has arrived on this connection.
  bool made_progress() const { return made_progress_; }

  // Sends a message that is delivered across connections (chief/fleet/reliable_outbox.h).
  void SendReliably(v1::ChiefMessage message, std::shared_ptr<const std::string> value = nullptr);
  // Drops the message if there is no connection.
  void SendIfConnected(v1::ChiefMessage message);

  // Acknowledges output of a rank that has been handled.
  void Acknowledge(const v1::OutputAck& ack);

  // Drops unacknowledged messages, and those that follow until Connect: the node is given up.
  void DropMessages();

  // Rank streams begin at offset 0 again.
  void BeginAttempt();

  // An event of this cost (launch/agent_rules.h) has been handled.
  void Handled(size_t cost);

  // The number of the oldest unacknowledged message; 0: none.
  uint64_t oldest_order() const;

  // The rule that the node broke, so that its data is ignored; OK: none.
  Status broken_rule() const;

  // When the agent itself last sent something. A connection that its node accepts does not count.
  Loop::Time last_contact() const { return last_contact_; }
  // The number of the agent's latest answer, which arrived no later than last_contact(); 0: none.
  uint64_t answer() const { return answer_; }

 private:
  // What has arrived from the agent that runs there now.
  struct Taken {
    uint64_t instance = 0;  // of the agent
    uint64_t events = 0;
    std::map<std::pair<uint32_t, int>, uint64_t> bytes = {};  // by rank and stream
  };
  // The listener of one connection, with its number.
  class Connection;

  void Take(uint64_t connection, v1::AgentEvent event);
  void TakeIfAllowed(uint64_t connection, v1::AgentEvent event);
  void BreakIfRefused();
  bool IsAllowed(v1::AgentEvent& event);      // escapes its texts
  bool TakeOutput(const v1::Output& output);  // false: a gap in the stream
  void TakeResumed(const v1::AgentEvent& event);
  void TakeAcknowledged(uint64_t sequence);  // mutex_ held, also below
  void SendResume();
  void SendNow(v1::ChiefMessage message);
  void SendOrders();
  void Refuse(const Status& why);

  const uint32_t number_;
  NodeListener& listener_;
  const Loop& loop_;
  std::atomic<Loop::Time> last_contact_;
  std::atomic<uint64_t> answer_ = 0;
  std::atomic<bool> made_progress_ = false;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<launch::NodeLink> link_;
  std::unique_ptr<Connection> session_;  // over link_
  uint64_t connection_ = 0;
  bool resumed_ = false;
  bool given_up_ = false;
  SessionKeys keys_;
  ReliableOutbox orders_;
  launch::EventRules rules_;
  Status broken_rule_;
  Taken taken_;
};

}  // namespace autodist::chief
