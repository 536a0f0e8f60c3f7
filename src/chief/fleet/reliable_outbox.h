// Messages to an agent that must arrive: each is kept until the agent has acknowledged it, and sent
// again in the next session if needed. Pure logic.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "autodist/v1/agent.pb.h"

namespace autodist::chief {

class ReliableOutbox {
 public:
  static constexpr size_t kMaxBytes = 8 << 20;  // bytes, without values
  static constexpr size_t kWindow = 4 << 20;    // bytes of sent and unacknowledged messages

  // Numbers the message. `value`: the value of a rendezvous reply; it is added to the message only
  // when that is sent, so that many messages share one copy. False: too many messages are
  // unacknowledged.
  bool Add(v1::ChiefMessage message, std::shared_ptr<const std::string> value);
  // Drops all messages up to this number.
  void Acknowledged(uint64_t sequence);
  // Sends the messages of the previous session again.
  void BeginSession() { sent_ = on_their_way_ = 0; }
  void Drop();
  // The number of the oldest unacknowledged message; 0: none.
  uint64_t oldest() const { return orders_.empty() ? 0 : orders_.front().message.sequence(); }

  // Returns the next message to send. Returns none while the window is full, so that replies with
  // large values do not fill the link's memory.
  std::optional<v1::ChiefMessage> Next();

 private:
  struct Order {
    v1::ChiefMessage message;
    std::shared_ptr<const std::string> value;
    size_t size;  // bytes, without the value

    size_t whole() const { return size + (value ? value->size() : 0); }
  };

  std::deque<Order> orders_;  // unacknowledged
  uint64_t last_sequence_ = 0;
  size_t size_ = 0;          // bytes, without values
  size_t sent_ = 0;          // number sent in this session
  size_t on_their_way_ = 0;  // bytes of these, with values
};

}  // namespace autodist::chief
