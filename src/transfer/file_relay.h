// Sends files from this machine once: one node gets them from here, and the other nodes from it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>

#include "autodist/v1/plan.pb.h"
#include "autodist/v1/sync.pb.h"

namespace autodist::transfer {

// Coordinates the relaying node and the others. Thread-safe; blocking calls call `busy` every two
// seconds, and end if it returns false, or with `stop`.
class FileRelay {
 public:
  using Busy = std::function<bool()>;

  // `node` relays to `others` other nodes.
  FileRelay(const v1::NodePlan& node, size_t others);

  bool Is(uint32_t node_rank) const { return node_rank == node_rank_; }
  // The request for the relaying node.
  const v1::RelayRequest& order() const { return order_; }

  // Records the node's answer, or that none will follow; only the first call counts.
  void Answered(const v1::SyncPassingOn& answer);
  void WillNotAnswer() { Offer(std::nullopt); }
  // Blocks until one of the two calls. nullopt: the files are not available there.
  std::optional<v1::SyncSource> AwaitSource(const Busy& busy, const std::stop_token& stop);

  // Records that another node has the files, or has failed.
  void OtherEnded();
  // Blocks until all others have ended.
  void AwaitOthers(const Busy& busy, const std::stop_token& stop);

 private:
  void Offer(std::optional<v1::SyncSource> source);
  template <typename Condition>
  void Await(const Busy& busy, const std::stop_token& stop, Condition condition);

  const uint32_t node_rank_;
  v1::RelayRequest order_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable_any changed_;
  bool settled_ = false;
  std::optional<v1::SyncSource> source_;
  size_t others_left_;
};

}  // namespace autodist::transfer
