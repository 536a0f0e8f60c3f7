// Polls one job on one thread, for any number of viewers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "autodist/status.h"
#include "autodist/v1/snapshot.pb.h"
#include "base/deadline.h"
#include "control/snapshot_client.h"

namespace autodist::web {

// A value that is published repeatedly to any number of readers. A slow reader skips intermediate
// values and never delays the publisher. Thread-safe.
class LatestValue {
 public:
  struct Update {
    uint64_t number = 0;  // differs for each text; 0: no text yet
    std::shared_ptr<const std::string> text;
    bool ended = false;  // no other text will follow
  };

  // Replaces the previous text. Does not block.
  void Publish(std::string text) {
    auto made = std::make_shared<const std::string>(std::move(text));
    const std::lock_guard lock(mutex_);
    ++update_.number;
    update_.text.swap(made);
    changed_.notify_all();
  }
  void End() {
    const std::lock_guard lock(mutex_);
    update_.ended = true;
    changed_.notify_all();
  }

  // Blocks until a text with another number is published, the end, or the deadline.
  Update Await(uint64_t seen, base::Deadline deadline) const {
    std::unique_lock lock(mutex_);
    const auto other = [&] { return update_.ended || update_.number != seen; };
    changed_.wait_until(lock, deadline.when(), other);
    return update_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Update update_;  // guarded by mutex_
};

// Thread-safe.
class JobSubscription {
 public:
  explicit JobSubscription(std::string job_id);
  // Blocks until the job's autodist has received that its answer is no longer wanted.
  ~JobSubscription();

  const std::string& job() const { return job_id_; }
  // The snapshot as an event of a stream, made once for all viewers. Ends with the job or with this
  // object; continues if the job's autodist does not answer, because it may answer later.
  const LatestValue& latest() const { return latest_; }

  // Returns a recent snapshot. Blocks until the first one arrives, for a few seconds at most.
  Result<std::shared_ptr<const v1::JobSnapshot>> Snapshot();
  Result<v1::History> History(int64_t since_ms) { return reader_.History(since_ms, Stop()); }

  // Requested when this subscription ends.
  std::stop_token Stop() const { return stop_.get_token(); }

 private:
  void Run();
  // Returns false after the last snapshot.
  bool Read();
  Result<std::shared_ptr<const v1::JobSnapshot>> Ask();
  bool IsStillGone();

  const std::string job_id_;
  control::SnapshotClient reader_;
  LatestValue latest_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by mutex_; only the thread writes them, so it reads them without the lock.
  Result<std::shared_ptr<const v1::JobSnapshot>> snapshot_;
  bool known_ = false;  // whether snapshot_ is set
  // used by the thread alone, like the rest
  base::Deadline gone_check_ = base::Deadline::After({});
  bool chief_gone_ = false;
  std::thread thread_;
};

// The subscriptions of all jobs that have viewers. Thread-safe.
class Subscriptions {
 public:
  // Null: too many other jobs have viewers.
  std::shared_ptr<JobSubscription> Of(const std::string& job_id);

 private:
  struct Entry {
    std::shared_ptr<JobSubscription> watch;
    base::Deadline keep;  // kept until then without viewers
  };
  std::mutex mutex_;
  std::map<std::string, Entry> subscriptions_;  // guarded by mutex_
};

}  // namespace autodist::web
