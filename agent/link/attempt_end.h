// Detects the end of an attempt on this node: no process runs, and the chief has all its output.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "agent/link/event_queue.h"
#include "agent/output/rank_output.h"

namespace autodist::agent {

// Thread-safe.
class AttemptEnd {
 public:
  // Calls `last_ended` after the end of the last attempt.
  AttemptEnd(EventQueue& events, RankOutput& output, std::function<void()> last_ended)
      : events_(events), output_(output), last_ended_(std::move(last_ended)) {}

  // Sets what is called before the end of an attempt is reported; returns its generation, or
  // nullopt if it was reported. Waits until an earlier one has returned.
  void OnEnded(std::function<std::optional<uint64_t>()> ended) {
    const std::lock_guard lock(ended_mutex_);
    ended_ = std::move(ended);
  }

  // Call before ending the processes. Until the end is reported, RankOutput::Begin must not be
  // called.
  void Begin(bool last);
  // Called by the supervisor: no process is left.
  void ProcessesGone();
  void OutputChanged();

 private:
  EventQueue& events_;
  RankOutput& output_;
  const std::function<void()> last_ended_;
  std::mutex ended_mutex_;
  std::function<std::optional<uint64_t>()> ended_ = [] { return 0; };  // guarded by ended_mutex_

  std::mutex mutex_;
  bool last_ = false;  // guarded by mutex_
  bool gone_ = false;  // guarded by mutex_
};

}  // namespace autodist::agent
