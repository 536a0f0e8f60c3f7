// What is new of a job, asked for again and again on a thread of its own: who draws never waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "autodist/status.h"
#include "control/snapshot_client.h"
#include "top/log_tail.h"

namespace autodist::top {

// All of it is shared, and never changes.
struct News {
  std::shared_ptr<const v1::JobSnapshot> snapshot;   // null: none yet
  std::shared_ptr<const v1::History> history;        // never null
  std::shared_ptr<const TextLines> log;              // of the rank that is followed; null: none yet
  Status issue;                                      // why there was no answer the last time
  std::chrono::steady_clock::time_point answered{};  // the last time
};

// Thread-safe.
class Feed {
 public:
  // `changed` is called on the thread when there are news; must not block.
  Feed(std::string job_id, std::chrono::milliseconds interval, std::function<void()> changed);
  // Blocks while an answer is waited for: a few seconds at most.
  ~Feed();

  News Get() const;
  // Whose log is wanted besides, in whatever attempt; nullopt: nobody's.
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
  // Of the thread alone.
  std::unique_ptr<LogTail> tail_;
  std::chrono::steady_clock::time_point gone_due_{};  // whether its autodist is still gone
  std::chrono::steady_clock::time_point history_due_{};
  std::chrono::steady_clock::time_point whole_history_due_{};

  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable woken_;
  bool stop_ = false;
  bool asked_ = false;  // the thread is not to wait
  std::optional<uint32_t> followed_;
  News news_{nullptr, std::make_shared<v1::History>(), nullptr, OkStatus(), {}};
  std::thread thread_{&Feed::Run, this};  // last: uses the rest
};

}  // namespace autodist::top
