// The progress of each node while all are connected to and prepared.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace autodist::launch {

// Thread-safe.
class LaunchProgress {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State {
    kWaiting,
    kConnecting,
    kLoggingIn,     // as kConnecting, by SSH
    kLoginRefused,  // a server on the way refuses logins for now
    kBooting,
    kInSsh,  // kLoggingIn or kLoggedIn: the ssh program does not report which
    kLoggedIn,
    kInContainer,  // as kLoggedIn, by a program such as podman or kubectl
    kStartingAgent,
    kSendingAgent,
    kSyncing,
    kPreparing,
    kReady
  };

  // Called on the current thread for each state that a node enters; must not block.
  using Entered = std::function<void(uint32_t node, State state)>;
  // Call before anything is launched.
  void OnState(Entered entered) { entered_ = std::move(entered); }

  // Creates the progress of nodes that are all ready. `now`: replaced by tests.
  explicit LaunchProgress(const std::vector<std::string>& addresses,
                          std::function<Clock::time_point()> now = Clock::now);

  // Restarts the progress of these nodes only.
  void Begin(const std::vector<uint32_t>& nodes);
  void Enter(uint32_t node, State state);
  void SendingAgent(uint32_t node, uint64_t sent, uint64_t total);  // bytes

  // Formats the nodes that are not ready: "node3 (connecting), node4 (sending the agent, 4.1 MB of
  // 11 MB) and 2 others". Slow states have a coarse time: "for 20 s", "for 2 min". While a login is
  // retried, the reason is shown, with the time since it failed for that reason first. "" if all
  // are ready, and while files are synced, which has a progress bar.
  std::string WaitingFor() const;

 private:
  struct Step {
    State state = State::kReady;
    Clock::time_point since;
  };
  struct Node {
    std::string address;
    Step step = {};
    std::optional<Step> retried = {};  // the failure after which the login is retried
    uint64_t sent = 0;
    uint64_t total = 0;
  };
  void Move(Node& node, State state) const;  // mutex_ held
  Step ShownStep(const Node& node) const;
  std::string Describe(const Node& node) const;
  std::string For(Clock::time_point since) const;

  const std::function<Clock::time_point()> now_;
  Entered entered_;  // may be empty
  mutable std::mutex mutex_;
  std::vector<Node> nodes_;  // guarded by mutex_
  bool syncs_ = false;       // guarded by mutex_: whether a node has begun to
};

// Returns "" below 20 s; otherwise the largest of 20 s, 1 min, 2 min, 5 min, 10 min and so on that
// has passed, so that a line with it rarely changes.
std::string CoarseTime(std::chrono::milliseconds time);

}  // namespace autodist::launch
