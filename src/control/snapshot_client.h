// Reads the snapshot and history of a job for viewers: from its autodist or, after its end, from
// its log folder.
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

// Files in a job's log folder.
inline constexpr char kSnapshotFile[] = "snapshot.json";
inline constexpr char kHistoryFile[] = "history.json";

// Thread-safe.
class SnapshotClient {
 public:
  // `log_folder`: of a job that need not be recorded; "": as in the record.
  explicit SnapshotClient(std::string job_id, std::string log_folder = "")
      : job_id_(std::move(job_id)), log_folder_(std::move(log_folder)) {}

  const std::string& job_id() const { return job_id_; }

  // Returns the current or last snapshot; if the job's autodist was killed, the last one is marked
  // so. Blocks for a few seconds at most, or until `stop`. kNotFound: no such job, or no snapshot
  // was saved.
  Result<std::shared_ptr<const v1::JobSnapshot>> Snapshot(const std::stop_token& stop = {});
  // The points that end later than `since_ms`, since 1970; blocks and fails as Snapshot.
  Result<v1::History> History(int64_t since_ms = 0, const std::stop_token& stop = {});

 private:
  Result<std::shared_ptr<JobClient>> Client();
  Result<v1::JobStatus> Record() const;

  const std::string job_id_;
  const std::string log_folder_;
  std::mutex mutex_;
  std::shared_ptr<JobClient> client_;  // guarded by mutex_, as the rest; null: not connected
  std::shared_ptr<const v1::JobSnapshot> snapshot_;  // the last received one
};

}  // namespace autodist::control
