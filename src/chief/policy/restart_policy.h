// Decides whether a failed job is restarted. Pure logic.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "autodist/v1/job_request.pb.h"
#include "chief/attempt/cause.h"

namespace autodist::chief {

struct RestartLimits {
  uint32_t max_restarts = 0;
  // Min number of nodes with which the job continues when others are lost; 0: all are needed.
  uint32_t min_nodes = 0;

  bool MayRestart() const { return max_restarts > 0 || min_nodes > 0; }
};

inline RestartLimits RestartLimitsOf(const v1::JobRequest& request) {
  return {request.max_restarts(), request.min_nodes()};
}

// How an attempt ended.
struct AttemptOutcome {
  Cause cause;
  bool ran = false;            // a rank had run
  bool nodes_missing = false;  // a node is lost or disconnected
  uint32_t nodes_present = 0;  // without those
  std::chrono::milliseconds lasted{0};
};

class RestartPolicy {
 public:
  explicit RestartPolicy(RestartLimits limits) : limits_(limits) {}

  // Returns the wait before the next attempt; nullopt: no further attempt. An attempt that ended
  // because of missing nodes does not count if the job may continue without them.
  std::optional<std::chrono::milliseconds> Next(const AttemptOutcome& outcome);

  uint32_t restarts_counted() const { return counted_; }

  static constexpr std::chrono::milliseconds kFirstWait{500};
  static constexpr std::chrono::milliseconds kMaxWait{60'000};
  // A longer attempt was no crash at the start.
  static constexpr std::chrono::milliseconds kCrashLoop{60'000};

 private:
  const RestartLimits limits_;
  uint32_t counted_ = 0;
  std::chrono::milliseconds wait_ = kFirstWait;
};

}  // namespace autodist::chief
