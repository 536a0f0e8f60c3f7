// From a spec file and a program to the plan of a job, as every command that reaches nodes makes
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "spec/resource_spec.h"

namespace autodist::cli {

// Reads the file; "" means this machine alone. Prints what is wrong with it and gives nullopt.
std::optional<spec::ResourceSpec> ReadOrDefaultSpec(const std::string& file);

// `master_port` 0: one that is free. Blocks on name services. kInvalidArgument: the program or the
// working directory is at fault.
Result<v1::LaunchPlan> PlanJob(const spec::ResourceSpec& spec,
                               const std::vector<std::string>& program, uint16_t master_port);

}  // namespace autodist::cli
