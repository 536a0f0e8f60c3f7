// Applies the steps of the plan to create the environment of a node's processes.
#pragma once

#include <chrono>
#include <string>

#include "agent/supervisor/supervisor.h"
#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "process/environment.h"

namespace autodist::agent {

// The values for the placeholders in SetVariable.on_node.
struct NodeValues {
  std::string agent;
  std::string agent_socket;
  std::string files;
  std::string interface;  // may be empty
  std::string working_directory;
};

using EnvironmentSteps = google::protobuf::RepeatedPtrField<v1::EnvironmentStep>;

struct ActivationPlace {
  std::string folder;
  std::chrono::milliseconds limit;
};

// Returns `environment` after the steps. Fails if an activation fails, which runs in that folder;
// blocks until it has ended, at most for that limit.
Result<process::Environment> TakeSteps(const EnvironmentSteps& steps,
                                       process::Environment environment, const NodeValues& values,
                                       const ActivationPlace& activation, Supervisor& supervisor);

}  // namespace autodist::agent
