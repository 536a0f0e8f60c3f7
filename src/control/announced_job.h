// A job that runs in this process, as other commands find it: by its control socket, and by what is
// kept of it on the disk.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "base/log_folder.h"
#include "base/worker.h"
#include "control/job_server.h"

namespace autodist::control {

// For one thread, which only Start and Ended block.
class AnnouncedJob {
 public:
  AnnouncedJob(std::string job_id, base::LogFolder log_folder)
      : job_id_(std::move(job_id)), log_folder_(std::move(log_folder)) {}

  // `requests` are made on other threads, until Withdraw returns or this is destroyed.
  Status Start(JobRequests requests);
  // Blocks until no request is being made.
  void Withdraw() { server_.reset(); }
  void Changed(const v1::JobStatus& status);
  // Blocks until all is recorded. Nothing of it will be written any more.
  void Ended(const v1::JobStatus& status);

 private:
  const std::string job_id_;
  const base::LogFolder log_folder_;
  bool recorded_ = false;
  std::string attempt_folder_;  // as it was recorded last
  std::unique_ptr<JobServer> server_;
  base::Worker records_;  // that may wait for a disk
};

}  // namespace autodist::control
