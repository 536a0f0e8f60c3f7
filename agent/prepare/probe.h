// Collects facts about a node, which the chief compares between nodes or shows to the user.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "agent/supervisor/supervisor.h"
#include "autodist/v1/agent.pb.h"
#include "process/environment.h"

namespace autodist::agent {

// The limit for each program that is run.
inline constexpr std::chrono::milliseconds kProbeLimit{3000};

struct ProbedNode {
  std::string working_directory;     // may not exist
  std::vector<std::string> command;  // of a rank; may be empty
  bool has_gpus = false;             // the plan uses some
  bool has_mig = false;              // the plan uses MIG devices by UUID
  // Of the ranks; without it, facts that depend on it stay empty.
  std::optional<process::Environment> rank_environment;
};

// Unknown facts stay empty, or an error field has the reason. Starts processes only for a thorough
// probe, and for the users of GPUs; then blocks for kProbeLimit plus the time to kill them, and for
// kDigestLimit while it reads files.
v1::NodeInfo Probe(const v1::ProbeRequest& probe, const ProbedNode& node, Supervisor& supervisor);

}  // namespace autodist::agent
