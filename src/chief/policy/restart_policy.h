// Whether a job that failed is tried again. Pure logic.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "autodist/v1/job_request.pb.h"
#include "chief/attempt/cause.h"

namespace autodist::chief {

struct RestartLimits {
  uint32_t max_restarts = 0;
  // Nodes with which the job goes on when others are lost; 0: all are needed.
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
  bool nodes_missing = false;  // some node is lost, or cut off
  uint32_t nodes_present = 0;  // without those
  std::chrono::milliseconds lasted{0};
};

class RestartPolicy {
 public:
  explicit RestartPolicy(RestartLimits limits) : limits_(limits) {}

  // How long to wait before the next attempt; nullopt: there is none. An attempt that ends because
  // nodes went missing does not count where the job may go on without them.
  std::optional<std::chrono::milliseconds> Next(const AttemptOutcome& outcome);

  uint32_t restarts_counted() const { return counted_; }

  static constexpr std::chrono::milliseconds kFirstWait{500};
  static constexpr std::chrono::milliseconds kMaxWait{60'000};
  // An attempt that lasts longer was no crash at the start.
  static constexpr std::chrono::milliseconds kCrashLoop{60'000};

 private:
  const RestartLimits limits_;
  uint32_t counted_ = 0;
  std::chrono::milliseconds wait_ = kFirstWait;
};

}  // namespace autodist::chief
