// What nodes have asked for and wait for, and what they are answered: how much of either there may
// be at a time. For the rendezvous and the modex of an attempt.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace autodist::chief {

// What several answers share.
using SharedValue = std::shared_ptr<const std::string>;

// Sends a node its answer; the value is null where there is none, the error empty where all is
// well.
using Reply = std::function<void(uint64_t id, SharedValue value, const std::string& error)>;

// Makes values that count until the last who has one lets go of it, whatever thread that is on.
class Values {
 public:
  static constexpr size_t kMost = 256 << 20;  // bytes, of all values and their keys
  static constexpr size_t kMaxOfNode = 48 << 20;

  // What `node` brings about. Null: there would be more than may be. `with` are bytes that come
  // with it.
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
  uint64_t id;  // of the node's choice
  size_t cost;  // bytes
  Reply reply;
};

// For one thread.
class WaitingCalls {
 public:
  static constexpr size_t kMaxOfNode = 16 << 20;  // bytes
  static constexpr size_t kCostOfCall = 256;

  // Empty where a call of this node may wait, which is then counted until it leaves; else why not.
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
