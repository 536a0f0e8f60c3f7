// One node over all its connections: orders outlive a broken one, and what the agent tells arrives
// once and in order.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "autodist/v1/agent.pb.h"
#include "base/deadline.h"
#include "launch/node_link.h"

namespace autodist::chief {

// Thread-safe; no call blocks but for the destructor, Connect and Disconnect, which wait for the
// handlers of an earlier connection to return.
class Node {
 public:
  struct Handlers {
    // On gRPC's threads, one call at a time; must not block.
    std::function<void(v1::AgentEvent event)> event;
    std::function<void(v1::Output output)> output;
    // The connection of this number has ended. OK: the agent has ended it, after Shutdown.
    std::function<void(uint64_t connection, Status status)> closed;
  };
  explicit Node(Handlers handlers);
  ~Node();

  // What an agent is greeted with (rpc/bootstrap_lines.h).
  std::string Greeting() const;

  // Opens a session over the link, in place of an earlier one. Returns the connection's number.
  uint64_t Connect(const std::shared_ptr<launch::NodeLink>& link);
  // Returns what was the link, whose own end may take seconds.
  std::shared_ptr<launch::NodeLink> Disconnect();
  // As the last Connect or Disconnect left it; null: none.
  std::shared_ptr<launch::NodeLink> link() const;
  uint64_t connection() const;
  // Whether the agent has answered on it.
  bool resumed() const;

  // Numbers the message and keeps it until the agent has acknowledged it.
  void Order(v1::ChiefMessage message);
  // Dropped where there is no connection.
  void Tell(v1::ChiefMessage message);

  // Its agent is gone: nobody is left to hear what was ordered.
  void DropOrders();

  // From now on rank streams begin at offset 0 again.
  void BeginAttempt();

  // When the agent was heard last.
  base::Deadline::Clock::time_point heard() const { return heard_; }

 private:
  using Stream = std::pair<uint32_t, int>;

  void Take(uint64_t connection, v1::AgentEvent event);
  bool TakeOutput(const v1::Output& output);  // false: it does not follow what came before
  void TakeResumed(const v1::AgentEvent& event);
  void TakeAcknowledged(uint64_t sequence);  // mutex_ held, as for the two below
  void SendResume();
  void Send(v1::ChiefMessage message);

  const Handlers handlers_;
  std::atomic<base::Deadline::Clock::time_point> heard_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<launch::NodeLink> link_;
  uint64_t connection_ = 0;
  bool resumed_ = false;
  std::string key_;       // that the agent is known to have
  std::string next_key_;  // that it may have instead
  uint64_t instance_ = 0;
  std::deque<v1::ChiefMessage> orders_;  // not acknowledged
  uint64_t last_order_ = 0;
  uint64_t events_taken_ = 0;
  std::map<Stream, uint64_t> received_;  // bytes
};

}  // namespace autodist::chief
