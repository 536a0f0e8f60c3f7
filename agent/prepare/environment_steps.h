// The environment of a node's processes, made in the steps that the plan has.
#pragma once

#include <chrono>
#include <string>

#include "agent/supervisor/supervisor.h"
#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "process/environment.h"

namespace autodist::agent {

// What stands for the names in braces of SetVariable.on_node.
struct NodeValues {
  std::string agent;
  std::string agent_socket;
  std::string files;
  std::string interface;  // empty: none
  std::string working_directory;
};

using EnvironmentSteps = google::protobuf::RepeatedPtrField<v1::EnvironmentStep>;

struct ActivationPlace {
  std::string folder;
  std::chrono::milliseconds limit;
};

// What the steps make of `environment`. Fails where an activation does, which runs in that folder;
// blocks until it has ended, for that limit at most.
Result<process::Environment> TakeSteps(const EnvironmentSteps& steps,
                                       process::Environment environment, const NodeValues& values,
                                       const ActivationPlace& activation, Supervisor& supervisor);

}  // namespace autodist::agent
