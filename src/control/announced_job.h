// Publishes a job that runs in this process to other commands, through its control socket and its
// record on disk.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "base/log.h"
#include "base/log_folder.h"
#include "base/worker.h"
#include "control/job_server.h"

namespace autodist::control {

// Not thread-safe, except AwaitRecord. Only Start, Withdraw, AwaitRecord and Ended block.
class AnnouncedJob {
 public:
  // `nodes`: returns the content of nodes.json, once, on a thread of this object; empty: no file.
  AnnouncedJob(std::string job_id, base::LogFolder log_folder,
               std::function<std::string()> nodes = {})
      : job_id_(std::move(job_id)), log_folder_(std::move(log_folder)), nodes_(std::move(nodes)) {}

  // `requests` are made on other threads until Withdraw returns or this object is destroyed.
  Status Start(JobRequests requests);
  // Blocks until no request is being made.
  void Withdraw() { server_.reset(); }
  void Changed(const v1::JobStatus& status);
  // Blocks until what has changed so far is recorded.
  void AwaitRecord() { records_.Drain(); }
  // Blocks until all is recorded. The job must write nothing after this.
  void Ended(const v1::JobStatus& status);

 private:
  void Warn(const v1::JobStatus& job, const Status& recorded);  // called by records_

  const std::string job_id_;
  const base::LogFolder log_folder_;
  std::function<std::string()> nodes_;  // empty after the first attempt has begun
  bool recorded_ = false;
  std::string attempt_folder_;  // the last recorded one
  std::unique_ptr<JobServer> server_;
  base::WarningsOnce warnings_;  // used by records_
  base::Worker records_;         // may block on a disk
};

}  // namespace autodist::control
