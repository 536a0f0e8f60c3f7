// Polls a job on its own thread, so that drawing never waits.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "autodist/status.h"
#include "control/snapshot_client.h"
#include "display/line_reader.h"
#include "logs/log_reader.h"
#include "top/view_model.h"

namespace autodist::top {

inline constexpr size_t kTailLines = 5'000;

// The last lines of a rank's output, updated as it grows. Reads the rank's files rank-N.out and
// rank-N.err. Not thread-safe; blocks on the disk.
class LogTail {
 public:
  LogTail(std::string folder, uint32_t rank);

  const std::string& folder() const { return folder_; }
  uint32_t rank() const { return rank_; }

  // Returns whether anything was added.
  bool ReadNew();
  // In order of time; incomplete bars come last.
  std::shared_ptr<const TextLines> lines() const;

 private:
  const std::string folder_;
  const uint32_t rank_;
  logs::LogReader reader_;
  std::array<display::LineReader, 2> streams_;
  TextLines lines_;
};

// The pointed-to objects are shared and never change.
struct SnapshotUpdate {
  std::shared_ptr<const v1::JobSnapshot> snapshot;   // null: none yet
  std::shared_ptr<const v1::History> history;        // never null
  std::shared_ptr<const TextLines> log;              // of the followed rank; null: none yet
  Status issue;                                      // why the last request failed
  std::chrono::steady_clock::time_point answered{};  // time of the last answer
};

// Thread-safe.
class JobPoller {
 public:
  // `changed` is called on the thread for each update; must not block.
  JobPoller(std::string job_id, std::chrono::milliseconds interval, std::function<void()> changed);
  // Blocks while a request is under way: a few seconds at most.
  ~JobPoller();

  SnapshotUpdate Get() const;
  // Selects the rank whose log of the current attempt is read; nullopt: none.
  void Follow(std::optional<uint32_t> rank);

 private:
  void Run();
  bool ReadSnapshot();
  Result<std::shared_ptr<const v1::JobSnapshot>> AskForSnapshot();
  bool ReadHistory();
  bool ReadLog(std::optional<uint32_t> rank);
  bool IsOver() const;
  bool MayChange();

  const std::string job_id_;
  const std::chrono::milliseconds interval_;
  const std::function<void()> changed_;
  control::SnapshotClient reader_;
  // Used by the thread alone.
  std::unique_ptr<LogTail> tail_;
  // the next check whether its autodist is still gone
  std::chrono::steady_clock::time_point gone_due_{};
  std::chrono::steady_clock::time_point history_due_{};
  std::chrono::steady_clock::time_point whole_history_due_{};

  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable woken_;
  bool stop_ = false;
  bool asked_ = false;  // the thread must not wait
  std::optional<uint32_t> followed_;
  SnapshotUpdate update_{nullptr, std::make_shared<v1::History>(), nullptr, OkStatus(), {}};
  std::thread thread_{&JobPoller::Run, this};  // last: uses the rest
};

}  // namespace autodist::top
