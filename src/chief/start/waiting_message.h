// Shows which nodes the start waits for: "waiting for node4: connecting".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chief/loop/loop.h"
#include "chief/output/console.h"
#include "chief/start/starting_job.h"
#include "launch/launch_progress.h"

namespace autodist::chief {

// Used on the loop's thread only.
class WaitingMessage {
 public:
  // Passes the states of the launch to the nodes' state machines.
  explicit WaitingMessage(const StartingJob& job);

  // Waits for these nodes; ends the wait.
  void Begin(const std::vector<uint32_t>& nodes);
  void End() { show_at_ = Loop::Time::max(); }
  // The node is no longer waited for.
  void Turned(uint32_t node) { progress_->Enter(node, launch::LaunchProgress::State::kReady); }

  // The launcher reports each node's state to it.
  const std::shared_ptr<launch::LaunchProgress>& progress() const { return progress_; }

 private:
  Loop::Time Show();

  Loop& loop_;
  Console& console_;
  const std::shared_ptr<launch::LaunchProgress> progress_;
  std::string reported_;
  Loop::Time show_at_ = Loop::Time::max();
};

}  // namespace autodist::chief
