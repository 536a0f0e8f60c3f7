// Simulated nodes, for a chief with simulated time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent_sim/simulated_agent.h"
#include "autodist/v1/plan.pb.h"
#include "launch/launcher.h"
#include "support/turned_loop.h"

namespace autodist::test {

// The agent of one node, its ranks, and the connection to it. Belongs to the loop's thread.
class FakeAgent final : public SimulatedAgent {
 public:
  explicit FakeAgent(TurnedLoop& loop) : loop_(loop) {}

  // Faults.
  bool silent = false;              // stopped: connected, but neither reads nor sends
  bool mute = false;                // receives messages, but its own are lost
  bool unreachable = false;         // the link is cut
  Status reconnecting_fails;        // why, if anything but a retry is known
  bool fails_at_once = false;       // each session, before its first answer
  bool fails_when_resumed = false;  // or after it
  bool launch_hangs = false;
  bool prepare_hangs = false;
  milliseconds link_takes{0};  // when it is started again
  Status launch_fails;
  v1::Check launch_fails_at = v1::CHECK_LOGIN;
  bool stays = false;                   // its watchdog does not exit when all has ended
  std::function<void()> on_start;       // called when its ranks have started
  v1::NodeInfo facts;                   // further ones, when it is prepared again
  milliseconds lease{0};                // after which it kills its ranks and exits; 0: never
  std::function<Status()> reach_fails;  // while it is frozen; a ProofOfEnd ends the attempts

  int launches = 0;
  int resumes = 0;
  int prepares = 0;
  std::vector<v1::ChiefMessage> received;
  bool gone() const { return gone_; }
  bool connected() const { return listener_ != nullptr; }
  bool frozen() const { return frozen_since_.has_value(); }
  uint64_t generation() const { return generation_; }  // of the ranks that it started last

  // Kills it with its watchdog, so that it answers no more.
  void Die();
  void Break() { Close(Error(StatusCode::kUnavailable, "connection reset by peer")); }
  void CutLink() {
    unreachable = true;
    Break();
  }
  // Stops all its processes, as a paused container does, or a suspended machine, whose clock stands
  // still. Messages are lost; so is the connection when they continue.
  void Freeze() { frozen_since_ = loop_.Now(); }
  void Thaw(bool clock_stood);
  // Its scheduler ends it: its ranks get SIGTERM. Die follows.
  void Evict();

 private:
  friend class FakeLink;
  friend class FakeLauncher;

  void Open(launch::SessionListener& listener);
  void Close(const Status& why);
  void Take(uint64_t session, const v1::ChiefMessage& message);
  bool Deliver(v1::AgentEvent event) override;
  void Handle(const v1::ChiefMessage& message) override;
  void After(milliseconds time, std::function<void()> task) override;
  int64_t Now() const override { return loop_.Now().time_since_epoch().count(); }
  // Runs the task when the agent is no longer silent.
  void Defer(std::function<void()> task);
  void RunDeferred();
  void AwaitAcknowledged() const;
  void NumberAnswer(v1::AgentEvent& event);
  // As an agent whose ranks may be replaced.
  void Renew(uint64_t answer);
  void Hold(const v1::SignalRanks& signal);
  void SetExpires(chief::Loop::Time expires);
  void CheckLease();
  // It was gone, and is started again.
  void Begin();

  TurnedLoop& loop_;
  launch::SessionListener* listener_ = nullptr;
  uint64_t session_ = 0;
  bool resumed_ = false;  // the session; no event is sent before
  bool gone_ = false;
  uint64_t pieces_ = 0;                         // of output so far
  std::deque<std::function<void()>> deferred_;  // what it does once it continues
  std::vector<chief::Loop::Time> answers_;
  std::optional<chief::Loop::Time> expires_;               // the lease; absent: not yet granted
  chief::Loop::Time check_at_ = chief::Loop::Time::max();  // of the lease
  bool held_ = false;                                      // the lease, while the chief is stopped
  std::optional<chief::Loop::Time> frozen_since_;
  std::vector<std::function<void()>> stopped_tasks_;  // while frozen
  uint64_t generation_ = 0;
  std::function<void()> on_break_;  // of the call that prepares it
  std::atomic<uint64_t> acknowledged_ = 0;
};

// Creates launchers, which it and the plan must outlive.
class FakeNodes {
 public:
  FakeNodes(TurnedLoop& loop, const v1::LaunchPlan& plan);

  FakeAgent& operator[](uint32_t node) { return *agents_[node]; }
  uint32_t size() const { return static_cast<uint32_t>(agents_.size()); }

  std::unique_ptr<launch::Launcher> MakeLauncher();

 private:
  friend class FakeLauncher;

  TurnedLoop& loop_;
  const v1::LaunchPlan& plan_;
  std::vector<std::unique_ptr<FakeAgent>> agents_;
};

}  // namespace autodist::test
