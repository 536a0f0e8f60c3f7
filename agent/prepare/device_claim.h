// Which of the node's devices the user's jobs have: each agent has a file of it beside its sockets.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::agent {

// Another job's agent, and its file.
struct OtherAgent {
  std::string job_id;
  std::string devices;
};

// Thread-safe: it has no state but the file.
class DeviceClaim {
 public:
  // `others`: those of this user that are there now. Where `file` is empty, nothing is claimed.
  DeviceClaim(std::string file, std::function<std::vector<OtherAgent>()> others)
      : file_(std::move(file)), others_(std::move(others)) {}

  // The job is to have the node's devices as soon as it can start; nothing where it has them. Best
  // effort, as are the others: a job runs without it, too.
  void Want(const v1::NodePlan& node) const;
  // It has them until the file is removed.
  void Have() const;

  std::vector<v1::OtherJob> OfOthers() const;

 private:
  const std::string file_;
  const std::function<std::vector<OtherAgent>()> others_;
};

// Both of the file's names.
std::vector<std::string> FilesOfClaim(const std::string& file);

}  // namespace autodist::agent
