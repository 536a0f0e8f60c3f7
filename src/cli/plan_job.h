// From a spec file and a program to all that the plan of a job is made of, for every command that
// reaches nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "plan/plan.h"
#include "spec/resource_spec.h"

namespace autodist::cli {

// Reads the file; "" means this machine alone. Prints what is wrong with it and gives nullopt.
std::optional<spec::ResourceSpec> ReadOrDefaultSpec(const std::string& file);

// All that the plan of a job is made of. `master_port` 0: one that is free. Blocks on name
// services. kInvalidArgument: the working directory is at fault.
Result<plan::Input> InputOf(const spec::ResourceSpec& spec, const std::vector<std::string>& program,
                            uint16_t master_port);

// The plan that they make.
Result<v1::LaunchPlan> PlanJob(const spec::ResourceSpec& spec,
                               const std::vector<std::string>& program, uint16_t master_port);

}  // namespace autodist::cli
