// A counter in shared memory by which a watchdog detects that its agent is running.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "autodist/status.h"

namespace autodist::agent {

// Copies in forked processes refer to the same counter. Thread-safe.
class Heartbeat {
 public:
  static Result<Heartbeat> Make();

  // Called by the agent: promises another beat, or its end, within this time.
  void Beat(std::chrono::milliseconds within);

  uint64_t beats() const { return shared_->beats; }
  std::chrono::milliseconds within() const { return std::chrono::milliseconds(shared_->within_ms); }

 private:
  struct Shared {
    std::atomic<uint64_t> beats = 0;
    std::atomic<int64_t> within_ms = INT64_MAX;
  };
  explicit Heartbeat(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;
};

// The time without a heartbeat. It counts observations instead of using a clock, so that time in
// which the machine or the observer was stopped is ignored. Pure logic.
class MissedBeats {
 public:
  explicit MissedBeats(std::chrono::milliseconds interval) : interval_(interval) {}

  // Call at each interval, with the current count.
  void Count(uint64_t beats);
  std::chrono::milliseconds missed() const { return missed_; }

 private:
  const std::chrono::milliseconds interval_;
  std::chrono::milliseconds missed_{0};
  uint64_t beats_ = 0;
};

}  // namespace autodist::agent
