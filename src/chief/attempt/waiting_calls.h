// Limits the calls of nodes that wait for an answer, and the answers that are being sent. For the
// rendezvous and the modex of an attempt.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace autodist::chief {

// A value that several answers share.
using SharedValue = std::shared_ptr<const std::string>;

// Sends a node its answer; the value is null if the answer has none, the error is empty on success.
using Reply = std::function<void(uint64_t id, SharedValue value, const std::string& error)>;

// Makes values. Each counts towards the limits until its last owner releases it, on any thread.
class Values {
 public:
  static constexpr size_t kMaxBytes = 256 << 20;  // bytes, of all values and their keys
  static constexpr size_t kMaxOfNode = 48 << 20;

  // Makes a value for `node`. Null: a limit would be exceeded. `with`: additional bytes.
  SharedValue Make(uint32_t node, std::string value, size_t with = 0);

 private:
  struct Made {
    std::mutex mutex;
    size_t bytes = 0;
    std::map<uint32_t, size_t> of_node;  // bytes
  };
  const std::shared_ptr<Made> made_ = std::make_shared<Made>();
};

// A call that is answered later.
struct WaitingCall {
  uint32_t node;
  uint64_t id;  // chosen by the node
  size_t cost;  // bytes
  Reply reply;
};

// Not thread-safe.
class WaitingCalls {
 public:
  static constexpr size_t kMaxOfNode = 16 << 20;  // bytes
  static constexpr size_t kCostOfCall = 256;

  // Counts a waiting call of this node until it leaves and returns ""; else returns the reason of a
  // refusal.
  std::string Enter(uint32_t node, size_t cost);
  void Leave(uint32_t node, size_t cost) { bytes_[node] -= cost; }
  void Answer(const WaitingCall& call, const SharedValue& value, const std::string& error = "") {
    Leave(call.node, call.cost);
    call.reply(call.id, value, error);
  }

 private:
  std::map<uint32_t, size_t> bytes_;  // by node
};

}  // namespace autodist::chief
