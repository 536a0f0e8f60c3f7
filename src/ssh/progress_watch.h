// Whether a connection gets anywhere.
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
  // How long a server may take nothing of what there is for it.
  static constexpr std::chrono::milliseconds kSendLimit{20'000};
  // How often in a row a connection may have its turn for nothing: one that waits in vain for what
  // has come already does so without end.
  static constexpr int kMaxIdleTurns = 100'000;

  explicit ProgressWatch(std::chrono::milliseconds send_limit = kSendLimit)
      : send_limit_(send_limit) {}

  // After each turn. `moved` differs whenever something has moved; `sending`: the other side has to
  // take something now.
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

  // When to have a turn at the latest.
  base::Deadline deadline() const { return deadline_; }

 private:
  const std::chrono::milliseconds send_limit_;
  base::Deadline deadline_ = base::Deadline::Never();
  uint64_t moved_ = 0;
  bool sending_ = false;
  int idle_turns_ = 0;
};

}  // namespace autodist::ssh
