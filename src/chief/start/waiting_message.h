// What the user is told of nodes that take their time: "waiting for node4: connecting".
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

// For the loop's thread.
class WaitingMessage {
 public:
  // The nodes' states follow the steps of their launch.
  explicit WaitingMessage(const StartingJob& job);

  // From now on these are waited for; nothing is.
  void Begin(const std::vector<uint32_t>& nodes);
  void End() { tell_at_ = Loop::Time::max(); }
  // Not for the node any more.
  void Turned(uint32_t node) { progress_->Enter(node, launch::LaunchProgress::Step::kReady); }

  // What tells how far each is.
  const std::shared_ptr<launch::LaunchProgress>& progress() const { return progress_; }

 private:
  Loop::Time Tell();

  Loop& loop_;
  Console& console_;
  const std::shared_ptr<launch::LaunchProgress> progress_;
  std::string reported_;
  Loop::Time tell_at_ = Loop::Time::max();
};

}  // namespace autodist::chief
