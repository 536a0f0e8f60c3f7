// How far each node is while all are reached and prepared.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace autodist::launch {

// Thread-safe.
class LaunchProgress {
 public:
  enum class Step {
    kWaiting,
    kConnecting,
    kStartingAgent,
    kSendingAgent,
    kSyncing,
    kPreparing,
    kReady
  };

  // Of nodes that are all ready.
  explicit LaunchProgress(const std::vector<std::string>& addresses);

  // Of these nodes, and no others, everything is to come.
  void Begin(const std::vector<uint32_t>& nodes);
  void Enter(uint32_t node, Step step);
  void SendingAgent(uint32_t node, uint64_t sent, uint64_t total);  // bytes

  // "node3 (connecting), node4 (sending the agent, 4.1 MB of 11 MB) and 2 others": those that are
  // not ready. "" if all are, and while files are synced, of which the person sees the progress.
  std::string WaitingFor() const;

 private:
  struct Node {
    std::string address;
    Step step = Step::kReady;
    uint64_t sent = 0;
    uint64_t total = 0;
  };
  static std::string Describe(const Node& node);

  mutable std::mutex mutex_;
  std::vector<Node> nodes_;  // guarded by mutex_
  bool syncs_ = false;       // guarded by mutex_: a node has begun to
};

}  // namespace autodist::launch
