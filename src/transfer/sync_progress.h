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
  SyncProgress();
  // Erases the line.
  ~SyncProgress();

  // What is shown until content is sent; `no_bar`: also afterwards, because none is sent now.
  void Waits(std::string what, bool no_bar);
  // What is shown with the bar. `total`: bytes of it on all nodes.
  void Sends(std::string what, uint64_t total);
  void Sent(uint64_t bytes) { sent_ += bytes; }
  // Prints a message instead of the bar, which is then drawn below it.
  void Log(base::LogLevel level, const std::string& message);

 private:
  using Clock = base::Deadline::Clock;

  void Show(const std::stop_token& stop);
  void Draw();
  uint64_t BytesPerSecond();

  std::pair<std::string, uint64_t> SendsNow();  // with the total

  const bool terminal_;
  std::atomic<uint64_t> sent_ = 0;
  std::mutex text_mutex_;          // never held while the terminal is written
  std::string sends_ = "syncing";  // guarded by text_mutex_
  uint64_t total_ = 0;             // of sends_; guarded by text_mutex_
  std::string waits_;              // guarded by text_mutex_
  bool no_bar_ = false;            // guarded by text_mutex_
  // Used only by the thread:
  std::deque<std::pair<Clock::time_point, uint64_t>> history_{{Clock::now(), 0}};  // of sent_
  uint64_t tenths_ = 0;                                                            // printed so far
  std::mutex mutex_;
  std::condition_variable_any ending_;
  std::jthread thread_;  // last: uses the members above
};

}  // namespace autodist::transfer
