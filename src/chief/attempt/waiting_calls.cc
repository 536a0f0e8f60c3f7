#include "chief/attempt/waiting_calls.h"

#include <utility>

#include "base/quantity.h"

namespace autodist::chief {
namespace {

constexpr size_t kCostOfValue = 128;  // besides its bytes

}  // namespace

SharedValue Values::Make(uint32_t node, std::string value, size_t with) {
  const size_t cost = value.size() + with + kCostOfValue;
  {
    const std::lock_guard lock(made_->mutex);
    size_t& of_node = made_->of_node[node];
    if (made_->bytes + cost > kMaxBytes || of_node + cost > kMaxOfNode) return nullptr;
    made_->bytes += cost;
    of_node += cost;
  }
  return {new const std::string(std::move(value)),
          [made = made_, node, cost](const std::string* unused) {
            delete unused;
            const std::lock_guard lock(made->mutex);
            made->bytes -= cost;
            made->of_node[node] -= cost;
          }};
}

std::string WaitingCalls::Enter(uint32_t node, size_t cost) {
  size_t& bytes = bytes_[node];
  if (bytes + cost > kMaxOfNode) {
    return "the calls that the ranks of this node wait for already have " + base::Bytes(kMaxOfNode);
  }
  bytes += cost;
  return "";
}

}  // namespace autodist::chief
