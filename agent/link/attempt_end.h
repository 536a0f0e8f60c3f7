// When an attempt is over on this node: nothing of it runs, and the chief has all that it wrote.
#pragma once

#include <functional>
#include <mutex>

#include "agent/link/event_queue.h"
#include "agent/output/rank_output.h"

namespace autodist::agent {

// Thread-safe.
class AttemptEnd {
 public:
  // `left` is called when the attempt that has ended is to be the last.
  AttemptEnd(EventQueue& events, RankOutput& output, std::function<void()> left)
      : events_(events), output_(output), left_(std::move(left)) {}

  // Before the processes are ended.
  void Begin(bool leave);
  // From the supervisor: no process is left.
  void ProcessesGone();
  void OutputChanged();

 private:
  EventQueue& events_;
  RankOutput& output_;
  const std::function<void()> left_;

  std::mutex mutex_;
  bool leave_ = false;  // guarded by mutex_
  bool gone_ = false;   // guarded by mutex_
};

}  // namespace autodist::agent
