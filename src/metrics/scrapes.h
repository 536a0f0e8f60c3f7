// Serves a job's metrics to any number of scrapes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/snapshot.pb.h"
#include "metrics/text_format.h"

namespace autodist::metrics {

// Thread-safe.
class Scrapes {
 public:
  using Clock = std::chrono::steady_clock;
  // May block for as long as a scrape may.
  using ReadSnapshot = std::function<Result<std::shared_ptr<const v1::JobSnapshot>>()>;

  explicit Scrapes(ReadSnapshot read_snapshot) : read_snapshot_(std::move(read_snapshot)) {}

  // Reads the snapshot at most once a second, on one thread at a time; other threads wait for it. A
  // failure is returned to all of them for as long.
  Result<std::string> Scrape(Format format, Clock::time_point now = Clock::now());

 private:
  void Read(Clock::time_point now);

  const ReadSnapshot read_snapshot_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::optional<Clock::time_point> read_at_;
  Result<std::vector<Family>> families_;
};

}  // namespace autodist::metrics
