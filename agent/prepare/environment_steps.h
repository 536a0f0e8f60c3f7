// Applies the steps of the plan to create the environment of a node's processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <tuple>
#include <vector>

#include "agent/supervisor/supervisor.h"
#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "base/deadline.h"
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
  std::stop_token stop = {};  // ends it early
};

// Runs statements that activate an environment, once for each input and version of the files that
// they source: an attempt soon after another does not wait for them again. Used by one thread at a
// time.
class Activations {
 public:
  // Afterwards they run again, because they may have fetched something that expires.
  static constexpr std::chrono::minutes kFresh{10};

  // Returns the environment after the statements, which run in the folder after those before them.
  // Blocks until they have ended, at most for the limit.
  Result<process::Environment> Run(const std::string& statements, const ActivationPlace& place,
                                   const process::Environment& before, Supervisor& supervisor);

 private:
  using Input =
      std::tuple<std::string, std::string, std::vector<std::string>, std::vector<int64_t>>;
  struct Output {
    process::Environment environment;
    base::Deadline fresh;
  };
  std::map<Input, Output> results_;
};

// Returns `environment` after the steps. Fails if an activation fails, which runs in that folder;
// blocks until it has ended, at most for that limit.
Result<process::Environment> TakeSteps(const EnvironmentSteps& steps,
                                       process::Environment environment, const NodeValues& values,
                                       const ActivationPlace& place, Activations& activations,
                                       Supervisor& supervisor);

}  // namespace autodist::agent
