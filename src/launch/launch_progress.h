// How far each node is while all are reached and prepared.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace autodist::launch {

// Thread-safe.
class LaunchProgress {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Step {
    kWaiting,
    kConnecting,
    kBooting,
    kLoggedIn,
    kStartingAgent,
    kSendingAgent,
    kSyncing,
    kPreparing,
    kReady
  };

  // Called for each step that a node enters, on the thread that does; must not block.
  using Entered = std::function<void(uint32_t node, Step step)>;
  // Before anything is launched.
  void OnStep(Entered entered) { entered_ = std::move(entered); }

  // Of nodes that are all ready.
  explicit LaunchProgress(const std::vector<std::string>& addresses);

  // Of these nodes, and no others, everything is to come.
  void Begin(const std::vector<uint32_t>& nodes);
  void Enter(uint32_t node, Step step);
  void SendingAgent(uint32_t node, uint64_t sent, uint64_t total);  // bytes

  // Whatever takes long is said with how long, in ever coarser times: "for 20 s", "for 2 min".
  // "node3 (connecting), node4 (sending the agent, 4.1 MB of 11 MB) and 2 others": those that are
  // not ready. "" if all are, and while files are synced, of which the person sees the progress.
  std::string WaitingFor() const;

 private:
  struct Node {
    std::string address;
    Step step = Step::kReady;
    uint64_t sent = 0;
    uint64_t total = 0;
    Clock::time_point since = Clock::now();  // it is in this step
  };
  static std::string Describe(const Node& node);

  Entered entered_;  // may be empty
  mutable std::mutex mutex_;
  std::vector<Node> nodes_;  // guarded by mutex_
  bool syncs_ = false;       // guarded by mutex_: a node has begun to
};

// "": less than 20 s; else the largest of 20 s, 1 min, 2 min, 5 min, 10 min and so on that has
// passed, so that a line about it need not be repeated at every look.
std::string CoarseTime(std::chrono::milliseconds time);

}  // namespace autodist::launch
