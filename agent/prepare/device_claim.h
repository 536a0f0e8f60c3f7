// Records which of the node's devices the user's jobs use: each agent has a file beside its
// sockets.
#pragma once

#include <functional>
#include <string>
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
  DeviceClaim(std::string file, std::function<std::vector<OtherAgent>()> others)
      : file_(std::move(file)), others_(std::move(others)) {}

  // The job waits for the node's devices; no effect if it already has them. Best effort, like the
  // other calls: a job also runs without it.
  void Want(const v1::NodePlan& node) const;
  // The job has the devices until the file is removed.
  void Have() const;

  std::vector<v1::OtherJob> OfOthers() const;

 private:
  const std::string file_;
  const std::function<std::vector<OtherAgent>()> others_;
};

// Returns both names of the file.
std::vector<std::string> FilesOfClaim(const std::string& file);

}  // namespace autodist::agent
