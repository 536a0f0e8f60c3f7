// A job as it is or was, for who looks at it: asked of the autodist that runs it, or, when it has
// ended, read from its log folder.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/snapshot.pb.h"
#include "control/job_client.h"

namespace autodist::control {

// What is kept in a job's log folder.
inline constexpr char kSnapshotFile[] = "snapshot.json";
inline constexpr char kHistoryFile[] = "history.json";

// Thread-safe.
class SnapshotClient {
 public:
  explicit SnapshotClient(std::string job_id) : job_id_(std::move(job_id)) {}

  const std::string& job_id() const { return job_id_; }

  // As it is now, or was at its end; of a job whose autodist was killed, as it was last, marked so.
  // Blocks for a few seconds at most, or until `stop`. kNotFound:
  // there is no such job, or nothing has been kept of it.
  Result<std::shared_ptr<const v1::JobSnapshot>> Snapshot(const std::stop_token& stop = {});
  // The points that end later than `since_ms`, since 1970; likewise.
  Result<v1::History> History(int64_t since_ms = 0, const std::stop_token& stop = {});

 private:
  Result<std::shared_ptr<JobClient>> Client();

  const std::string job_id_;
  std::mutex mutex_;
  std::shared_ptr<JobClient> client_;  // guarded by mutex_, as the rest; null: none yet, or gone
  std::shared_ptr<const v1::JobSnapshot> snapshot_;  // the last that was heard
};

}  // namespace autodist::control
