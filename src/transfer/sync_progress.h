// The progress of --sync on stderr: at a terminal a line that is redrawn, with a bar once content
// is sent; otherwise a line for every 10 % of it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/deadline.h"
#include "base/log.h"

namespace autodist::transfer {

// Returns "WHAT  [###---]  52 %  104 MB/s", truncated to `width` columns.
std::string ProgressLine(const std::string& what, uint64_t sent, uint64_t total,
                         uint64_t bytes_per_second, size_t width);

// Thread-safe.
class SyncProgress {
 public:
  // `compares` is shown until content is sent, then `sends`. `total`: bytes, some of which will be
  // sent while others already exist.
  SyncProgress(std::string compares, std::string sends, uint64_t total);
  // Erases the line.
  ~SyncProgress();

  void Sent(uint64_t bytes) { sent_ += bytes; }
  void NotNeeded(uint64_t bytes) { total_ -= bytes; }
  // Prints a message instead of the bar, which is then drawn below it.
  void Log(base::LogLevel level, const std::string& message);

 private:
  using Clock = base::Deadline::Clock;

  void Show(const std::stop_token& stop);
  void Draw();
  uint64_t BytesPerSecond();

  const std::string compares_;
  const std::string sends_;
  const bool terminal_;
  std::atomic<uint64_t> total_;  // bytes that nodes need, as far as is known
  std::atomic<uint64_t> sent_ = 0;
  // Used only by the thread:
  std::deque<std::pair<Clock::time_point, uint64_t>> history_;  // of sent_
  uint64_t tenths_ = 0;                                         // printed so far
  std::mutex mutex_;
  std::condition_variable_any ending_;
  std::jthread thread_;  // last: uses the members above
};

}  // namespace autodist::transfer
