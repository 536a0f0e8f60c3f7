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
  // `last_ended` is called when the attempt that has ended is to be the last.
  AttemptEnd(EventQueue& events, RankOutput& output, std::function<void()> last_ended)
      : events_(events), output_(output), last_ended_(std::move(last_ended)) {}

  // Before the processes are ended.
  void Begin(bool last);
  // From the supervisor: no process is left.
  void ProcessesGone();
  void OutputChanged();

 private:
  EventQueue& events_;
  RankOutput& output_;
  const std::function<void()> last_ended_;

  std::mutex mutex_;
  bool last_ = false;  // guarded by mutex_
  bool gone_ = false;  // guarded by mutex_
};

}  // namespace autodist::agent
