// Asks the autodist that runs a job.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job.grpc.pb.h"

namespace autodist::control {

// Thread-safe.
class JobClient {
 public:
  // kNotFound: no autodist answers for the job, which may have ended or been abandoned.
  static Result<JobClient> Connect(const std::string& job_id);

  // Blocks for a few seconds at most.
  Result<v1::JobStatus> GetStatus() const;

  // Blocks until the job has ended. kCancelled: by `stop`. kUnavailable: autodist has gone without
  // a word.
  Result<v1::JobStatus> WaitForEnd(const std::stop_token& stop) const;

  // What every rank is doing now, with the whole stacks of these. Blocks for a minute at most;
  // kDeadlineExceeded: that autodist is stopped, say.
  Result<v1::JobStacks> GetStacks(const std::vector<uint32_t>& whole) const;

  // Blocks until the files have come that the job's nodes have; that autodist stops where this
  // process ends.
  Result<v1::JobFiles> Fetch(const v1::FetchRequest& request) const;

  // As if that autodist had received the signal; one of SIGINT, SIGTERM, SIGQUIT, SIGUSR1 and
  // SIGUSR2. Blocks for a few seconds at most.
  Status Signal(int signal) const;

 private:
  explicit JobClient(std::unique_ptr<v1::JobService::Stub> stub) : stub_(std::move(stub)) {}

  std::unique_ptr<v1::JobService::Stub> stub_;
};

}  // namespace autodist::control
