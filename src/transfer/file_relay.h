// Files that leave this machine once: one node gets them from here, and the others get them from
// it.
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

// Who waits for whom. Thread-safe; what blocks calls `busy` every two seconds, and ends where that
// says no, or with `stop`.
class FileRelay {
 public:
  using Busy = std::function<bool()>;

  // By this node to so many others.
  FileRelay(const v1::NodePlan& node, size_t others);

  bool Is(uint32_t node_rank) const { return node_rank == node_rank_; }
  // What the node is to do.
  const v1::RelayRequest& order() const { return order_; }

  // What the node has answered to it, or that there will be no answer: the first word counts.
  void Answered(const v1::SyncPassingOn& answer);
  void WillNotAnswer() { Offer(std::nullopt); }
  // Blocks until one of them. nullopt: the files are not to be had there.
  std::optional<v1::SyncSource> AwaitSource(const Busy& busy, const std::stop_token& stop);

  // One of the others has its files, or will not.
  void OtherEnded();
  // Blocks until all have.
  void AwaitOthers(const Busy& busy, const std::stop_token& stop);

 private:
  void Offer(std::optional<v1::SyncSource> source);
  template <typename Condition>
  void Await(const Busy& busy, const std::stop_token& stop, Condition condition);

  const uint32_t node_rank_;
  v1::RelayRequest order_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  bool settled_ = false;
  std::optional<v1::SyncSource> source_;
  size_t others_left_;
};

}  // namespace autodist::transfer
