// A job that is looked at: asked how it is by one thread, whatever the number of those who look.
#pragma once

#include <chrono>
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
#include "web/latest_value.h"

namespace autodist::web {

// Thread-safe.
class JobSubscription {
 public:
  explicit JobSubscription(std::string job_id);
  // Blocks for as long as the job's autodist takes to hear that it need not answer.
  ~JobSubscription();

  const std::string& job() const { return job_id_; }
  // The snapshot as an event of a stream, made once for all viewers. Ends with the job, or with
  // this; goes on where the job's autodist does not answer, as it may do so again.
  const LatestValue& latest() const { return latest_; }

  // As it was a moment ago. Blocks until something is known, for a few seconds at most.
  Result<std::shared_ptr<const v1::JobSnapshot>> Snapshot();
  Result<v1::History> History(int64_t since_ms) { return reader_.History(since_ms, Stop()); }

  // Of this watch's end.
  std::stop_token Stop() const { return stop_.get_token(); }

 private:
  void Run();
  // Whether there may be more.
  bool Read();
  Result<std::shared_ptr<const v1::JobSnapshot>> Ask();
  bool IsStillGone();

  const std::string job_id_;
  control::SnapshotClient reader_;
  LatestValue latest_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by mutex_; the thread, which alone changes them, reads them without.
  Result<std::shared_ptr<const v1::JobSnapshot>> snapshot_;
  bool known_ = false;                                     // snapshot_ is
  base::Deadline gone_check_ = base::Deadline::After({});  // of the thread, as the rest
  bool chief_gone_ = false;
  std::thread thread_;
};

// The watches of all jobs that are looked at. Thread-safe.
class Watches {
 public:
  // Null: too many other jobs are looked at.
  std::shared_ptr<JobSubscription> Of(const std::string& job_id);

 private:
  struct Entry {
    std::shared_ptr<JobSubscription> watch;
    base::Deadline keep;  // though nobody looks
  };
  std::mutex mutex_;
  std::map<std::string, Entry> watches_;  // guarded by mutex_
};

}  // namespace autodist::web
