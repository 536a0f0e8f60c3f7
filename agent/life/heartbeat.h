// By which a watchdog knows that its agent runs and is not stopped: a count in memory of both.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "autodist/status.h"

namespace autodist::agent {

// Copies in forked processes are the same. Thread-safe.
class Heartbeat {
 public:
  static Result<Heartbeat> Make();

  // The agent's: there will be another one, or it will have ended, within this time.
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

// How long there has been no heartbeat. Counted in looks at it and not by a clock: time in which
// the whole machine was stopped, or the one who looks, does not count. Pure logic.
class MissedBeats {
 public:
  explicit MissedBeats(std::chrono::milliseconds interval) : interval_(interval) {}

  // One interval after the look before: the count that is seen now.
  void Count(uint64_t beats);
  std::chrono::milliseconds missed() const { return missed_; }

 private:
  const std::chrono::milliseconds interval_;
  std::chrono::milliseconds missed_{0};
  uint64_t beats_ = 0;
};

}  // namespace autodist::agent
