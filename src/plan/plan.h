// spec + command + options → LaunchPlan. Nothing here touches the system, and nothing is decided
// after it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "spec/resource_spec.h"

namespace autodist::plan {

struct Input {
  spec::ResourceSpec spec;
  std::vector<std::string> command;  // the program and its arguments
  std::string job_id;
  std::string working_directory;  // absolute
  std::string username;           // where an ssh group names none
  std::string home;               // what "~" in a key_file means
  uint16_t master_port = 0;       // free on the chief's node

  // IP address of every node of the spec, by its address as the spec writes it.
  std::map<std::string, std::string> ip_of;
};

// Rank order: the chief's node first, then spec order; device order inside a node.
Result<v1::LaunchPlan> MakePlan(const Input& input);

}  // namespace autodist::plan
