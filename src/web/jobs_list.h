// The list of this user's jobs, for any number of viewers.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "control/snapshot_client.h"
#include "web/json.h"

namespace autodist::web {

// Thread-safe.
class JobsList {
 public:
  // `only`: the one job that is listed; empty: all.
  explicit JobsList(std::string only) : only_(std::move(only)) {}

  // Lists jobs and their progress; the caller fills in the rest. Renewed at most every two seconds.
  // Blocks until `stop`, or for a few seconds if the autodist of a job does not answer.
  JobsPage Get(const std::stop_token& stop);

 private:
  std::vector<v1::JobStatus> List() const;

  const std::string only_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::optional<base::Deadline> fresh_;
  JobsPage page_;
  std::map<std::string, std::unique_ptr<control::SnapshotClient>> readers_;  // of the running jobs
};

}  // namespace autodist::web
