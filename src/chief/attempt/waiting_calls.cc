#include "chief/attempt/waiting_calls.h"

#include <utility>

#include "base/quantity.h"

namespace autodist::chief {
namespace {

constexpr size_t kCostOfValue = 128;  // besides its bytes

}  // namespace

SharedValue Values::Make(std::string value, size_t with) {
  const size_t cost = value.size() + with + kCostOfValue;
  if (bytes_->load() + cost > kMost) return nullptr;
  *bytes_ += cost;
  return {new const std::string(std::move(value)), [bytes = bytes_, cost](const std::string* made) {
            *bytes -= cost;
            delete made;
          }};
}

std::string WaitingCalls::Enter(uint32_t node, size_t cost) {
  size_t& bytes = bytes_[node];
  if (bytes + cost > kMostOfNode) {
    return "the calls that the ranks of this node wait for already have " +
           base::Bytes(kMostOfNode);
  }
  bytes += cost;
  return "";
}

}  // namespace autodist::chief
