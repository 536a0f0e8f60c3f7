#include "chief/fleet/reliable_outbox.h"

#include <utility>

namespace autodist::chief {
namespace {

constexpr size_t kCostOfMessage = 256;  // bytes, in addition to its content

}  // namespace

bool ReliableOutbox::Add(v1::ChiefMessage message, std::shared_ptr<const std::string> value) {
  message.set_sequence(++last_sequence_);
  const size_t size = message.ByteSizeLong() + kCostOfMessage;
  orders_.push_back({std::move(message), std::move(value), size});
  size_ += size;
  return size_ <= kMaxBytes;
}

void ReliableOutbox::Acknowledged(uint64_t sequence) {
  while (!orders_.empty() && orders_.front().message.sequence() <= sequence) {
    const Order& order = orders_.front();
    size_ -= order.size;
    if (sent_ > 0) {
      --sent_;
      on_their_way_ -= order.whole();
    }
    orders_.pop_front();
  }
}

void ReliableOutbox::Drop() {
  orders_.clear();
  size_ = sent_ = on_their_way_ = 0;
}

std::optional<v1::ChiefMessage> ReliableOutbox::Next() {
  if (sent_ == orders_.size()) return std::nullopt;
  const Order& order = orders_[sent_];
  if (on_their_way_ > 0 && on_their_way_ + order.whole() > kWindow) return std::nullopt;
  on_their_way_ += order.whole();
  ++sent_;
  v1::ChiefMessage message = order.message;
  if (order.value) message.mutable_rendezvous_reply()->set_value(*order.value);
  return message;
}

}  // namespace autodist::chief
