// Client of the control socket of a running job.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job.grpc.pb.h"
#include "autodist/v1/snapshot.grpc.pb.h"

namespace autodist::control {

// Thread-safe.
class JobClient {
 public:
  // kNotFound: no autodist answers for the job, which may have ended or been abandoned.
  // kDeadlineExceeded: it does not accept. Blocks for two seconds at most.
  static Result<JobClient> Connect(const std::string& job_id);

  // Blocks for a few seconds at most. For this and all other calls: kDeadlineExceeded: that
  // autodist does not answer within the limit, for example because it is suspended (NoAnswer);
  // kUnavailable: it exited.
  Result<v1::JobStatus> GetStatus() const;

  // Blocks until the job has ended, also while its autodist is suspended. kCancelled: by `stop`.
  Result<v1::JobStatus> WaitForEnd(const std::stop_token& stop) const;

  // Returns what every rank is doing, with the whole stacks of the ranks in `whole`; for flight
  // records see CollectStacks. Blocks for a minute at most; kCancelled: by `stop`.
  Result<v1::JobStacks> GetStacks(const std::vector<uint32_t>& whole, bool flight_records,
                                  const std::stop_token& stop = {}) const;

  // Blocks until the files of the job's nodes have arrived; ends early if this process ends.
  Result<v1::JobFiles> Fetch(const v1::FetchRequest& request) const;

  // Returns the job's snapshot, or nothing if `known` is its current version. Blocks for a few
  // seconds at most, or until `stop`.
  Result<std::optional<v1::JobSnapshot>> GetSnapshot(uint64_t known,
                                                     const std::stop_token& stop = {}) const;
  // Returns the history since this time, in milliseconds since 1970; blocks and fails as
  // GetSnapshot.
  Result<v1::History> GetHistory(int64_t since_ms, const std::stop_token& stop = {}) const;

  // Returns why the job makes little progress. Blocks for two minutes at most; fails as GetStacks.
  Result<v1::JobDiagnosis> GetDiagnosis(const std::stop_token& stop = {}) const;

  // Returns the nodes that have been asked for stacks and have not answered yet; blocks and fails
  // as GetSnapshot.
  Result<v1::AwaitedNodes> GetAwaitedNodes(const std::stop_token& stop = {}) const;

  // Acts as if that autodist had received the signal: SIGINT, SIGTERM, SIGQUIT, SIGUSR1 or SIGUSR2.
  // `by`: the sender, as reports name it: "`autodist stop`". Blocks for a few seconds at most.
  Status Signal(int signal, const std::string& by) const;

 private:
  JobClient(std::string job_id, std::unique_ptr<v1::JobService::Stub> stub,
            std::unique_ptr<v1::SnapshotService::Stub> snapshot)
      : job_id_(std::move(job_id)), stub_(std::move(stub)), snapshot_(std::move(snapshot)) {}

  std::string job_id_;
  std::unique_ptr<v1::JobService::Stub> stub_;
  std::unique_ptr<v1::SnapshotService::Stub> snapshot_;
};

}  // namespace autodist::control
