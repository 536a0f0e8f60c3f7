// Detects connections without progress.
#pragma once

#include <chrono>
#include <cstdint>

#include "autodist/status.h"
#include "base/deadline.h"
#include "ssh/ssh_errors.h"

namespace autodist::ssh {

// For one thread.
class ProgressWatch {
 public:
  // The maximum time in which a server may accept no data although data wait for it.
  static constexpr std::chrono::milliseconds kSendLimit{20'000};
  // The maximum number of consecutive turns of a connection without progress. A connection that
  // waits for data which have already been received gets such turns without end.
  static constexpr int kMaxIdleTurns = 100'000;

  explicit ProgressWatch(std::chrono::milliseconds send_limit = kSendLimit)
      : send_limit_(send_limit) {}

  // Call after each turn. `moved` changes whenever data have moved; `sending`: data wait for the
  // other side to accept them.
  Status Turn(uint64_t moved, bool sending) {
    const bool moves = moved != moved_;
    moved_ = moved;
    idle_turns_ = moves ? 0 : idle_turns_ + 1;
    if (idle_turns_ > kMaxIdleTurns) return NoProgressError();
    if (!sending) {
      deadline_ = base::Deadline::Never();
    } else if (moves || !sending_) {
      deadline_ = base::Deadline::After(send_limit_);
    } else if (deadline_.Expired()) {
      return StalledError(send_limit_);
    }
    sending_ = sending;
    return OkStatus();
  }

  // Returns the time of the next turn at the latest.
  base::Deadline deadline() const { return deadline_; }

 private:
  const std::chrono::milliseconds send_limit_;
  base::Deadline deadline_ = base::Deadline::Never();
  uint64_t moved_ = 0;
  bool sending_ = false;
  int idle_turns_ = 0;
};

}  // namespace autodist::ssh
