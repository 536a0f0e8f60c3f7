// Facts about a node, which the chief compares between nodes or shows to the user.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "agent/supervisor/supervisor.h"
#include "autodist/v1/agent.pb.h"
#include "process/environment.h"

namespace autodist::agent {

// How long each program that is asked may take.
inline constexpr std::chrono::milliseconds kProbeLimit{3000};

struct ProbedNode {
  std::string working_directory;     // may be missing
  std::vector<std::string> command;  // of a rank; may be empty
  bool has_gpus = false;             // the plan has some of it
  bool has_mig = false;              // parts of them, named by UUID
  // Of the ranks; if there is none, what depends on it stays empty.
  std::optional<process::Environment> rank_environment;
};

// What cannot be found out stays empty, or its `issue` says why. Starts processes only for a
// thorough probe, and for the users of GPUs, and then blocks for kProbeLimit and as long as
// they take to be killed; and while the files are read, for kDigestLimit.
v1::NodeInfo Probe(const v1::ProbeRequest& probe, const ProbedNode& node, Supervisor& supervisor);

}  // namespace autodist::agent
