// Records which of the node's devices the user's jobs use: each agent has a file beside its
// sockets.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::agent {

// The agent of another job, and its file.
struct OtherAgent {
  std::string job_id;
  std::string devices;
};

// Thread-safe: the only state is the file.
class DeviceClaim {
 public:
  // `others`: returns the current ones of this user. With an empty `file`, nothing is recorded.
  DeviceClaim(std::string file, std::function<std::vector<OtherAgent>()> others,
              std::string job_id = "")
      : file_(std::move(file)), others_(std::move(others)), job_id_(std::move(job_id)) {}

  // The job waits for the node's devices; no effect if it already has them. Best effort, like the
  // other calls: a job also runs without it.
  void Want(const v1::NodePlan& node) const;
  // The job has the devices until the file is removed.
  void Have() const;

  // For a job that has not started: it has the devices, unless another job has some of them or an
  // older one waits for them. Returns the claims of the others. Of several jobs that call this at
  // the same moment, at most one has the devices.
  std::vector<v1::OtherJob> Reserve(const v1::NodePlan& node) const;

  std::vector<v1::OtherJob> OfOthers() const;

 private:
  // The others, and whether one of them comes before this job.
  std::pair<std::vector<v1::OtherJob>, bool> Look(const v1::NodePlan& node) const;

  const std::string file_;
  const std::function<std::vector<OtherAgent>()> others_;
  const std::string job_id_;  // begins with the time
};

// Returns both names of the file.
std::vector<std::string> FilesOfClaim(const std::string& file);

}  // namespace autodist::agent
