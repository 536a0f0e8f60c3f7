// The environment of a node's processes, made in the steps that the plan has.
#pragma once

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

// What the steps make of `environment`. Fails where an activation does, which runs in
// `activation_folder`; blocks until it has ended, for kActivationLimit at most.
Result<process::Environment> TakeSteps(const EnvironmentSteps& steps,
                                       process::Environment environment, const NodeValues& values,
                                       const std::string& activation_folder,
                                       Supervisor& supervisor);

}  // namespace autodist::agent
