// From a spec and a program to the plans of a job: of its first attempt, and of those after it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "plan/plan.h"
#include "spec/resource_spec.h"

namespace autodist::chief {

// What runs on the devices of a spec, and how it is told so.
struct Program {
  std::vector<std::string> command;  // may be empty where nothing is to run
  v1::ProgramKind kind = v1::PROGRAM_KIND_PER_DEVICE;
  std::vector<std::string> dialects;  // empty: as the command has it
  uint16_t master_port = 0;           // 0: one that is free
  std::vector<plan::Variable> variables;
  // On the nodes: absolute, or "~/..."; empty: this one, or if this machine takes no part the same
  // below the home folder.
  std::string working_directory;
};

// All that the plan of a job is made of. Blocks on name services, and on the nodes where they are
// asked for the addresses of their devices. kInvalidArgument: the working directory is at fault.
Result<plan::Input> InputOf(const spec::ResourceSpec& spec, const Program& program);

// The plan that they make.
Result<v1::LaunchPlan> PlanJob(const spec::ResourceSpec& spec, const Program& program);

// With other ports, but for a master port that the user has chosen; 0: none.
Result<v1::LaunchPlan> PlanAttempt(plan::Input input, uint16_t master_port,
                                   const plan::Replan& replan);

}  // namespace autodist::chief
