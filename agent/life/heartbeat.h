// Shared memory by which a watchdog detects that its agent is running, and when its lease expires.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "autodist/status.h"
#include "base/deadline.h"

namespace autodist::agent {

// Copies in forked processes refer to the same counter. Thread-safe.
class Heartbeat {
 public:
  static Result<Heartbeat> Make();

  // Called by the agent: promises another beat, or its end, within this time.
  void Beat(std::chrono::milliseconds within);
  // Called by the agent: nothing of the job may run afterwards, whether or not the agent runs.
  void ExpireAt(base::Deadline deadline);

  uint64_t beats() const { return shared_->beats; }
  std::chrono::milliseconds within() const { return std::chrono::milliseconds(shared_->within_ms); }
  base::Deadline expires() const { return base::Deadline::At(shared_->expires); }

 private:
  struct Shared {
    std::atomic<uint64_t> beats = 0;
    std::atomic<int64_t> within_ms = INT64_MAX;
    std::atomic<base::Deadline::Clock::time_point> expires = base::Deadline::Never().when();
  };
  explicit Heartbeat(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;
};

// The time without a heartbeat. It counts observations instead of using a clock, so that time in
// which the machine or the observer was stopped is ignored. Pure logic.
class MissedBeats {
 public:
  // Call after each time of waiting, with the current count.
  void Count(uint64_t beats, std::chrono::milliseconds waited);
  std::chrono::milliseconds missed() const { return missed_; }

 private:
  std::chrono::milliseconds missed_{0};
  uint64_t beats_ = 0;
};

}  // namespace autodist::agent
