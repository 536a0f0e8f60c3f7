// What an agent is told reliably: kept until it has acknowledged it, told again in the next session
// where it has not. Pure logic.
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
  static constexpr size_t kMost = 8 << 20;    // bytes, without values
  static constexpr size_t kWindow = 4 << 20;  // bytes, of those that are on their way

  // Numbers the message. `value` is the value of a rendezvous' reply, which becomes part of the
  // message when it is sent, and not before: however many messages have it, there is one of it.
  // False: the agent has left too many unacknowledged.
  bool Add(v1::ChiefMessage message, std::shared_ptr<const std::string> value);
  // All up to this number.
  void Acknowledged(uint64_t sequence);
  // What has been sent in the session before is to be sent again.
  void BeginSession() { sent_ = on_their_way_ = 0; }
  void Drop();
  // The number of the oldest that is not acknowledged; 0: none.
  uint64_t oldest() const { return orders_.empty() ? 0 : orders_.front().message.sequence(); }

  // To be sent now; none, too, until enough of those on their way are acknowledged: replies with
  // large values are not to fill the link's memory.
  std::optional<v1::ChiefMessage> Next();

 private:
  struct Order {
    v1::ChiefMessage message;
    std::shared_ptr<const std::string> value;
    size_t size;  // bytes, without the value

    size_t whole() const { return size + (value ? value->size() : 0); }
  };

  std::deque<Order> orders_;  // not acknowledged
  uint64_t last_sequence_ = 0;
  size_t size_ = 0;          // bytes, without values
  size_t sent_ = 0;          // how many of them have been, in this session
  size_t on_their_way_ = 0;  // bytes of these, with values
};

}  // namespace autodist::chief
