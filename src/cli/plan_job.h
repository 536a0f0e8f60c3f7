// From a spec file and a program to all that the plan of a job is made of, for every command that
// reaches nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "cli/commands.h"
#include "plan/plan.h"
#include "spec/resource_spec.h"

namespace autodist::cli {

// Reads the file; "" means this machine alone. Prints what is wrong with it and gives nullopt.
std::optional<spec::ResourceSpec> ReadOrDefaultSpec(const std::string& file);

// What runs on the devices of a spec, and how it is told so.
struct Program {
  std::vector<std::string> command;  // may be empty where nothing is to run
  v1::ProgramKind kind = v1::PROGRAM_KIND_PER_DEVICE;
  std::vector<std::string> dialects;  // empty: as the command has it
  uint16_t master_port = 0;           // 0: one that is free
  std::vector<std::string> env;       // "NAME=VALUE", for all processes
  std::vector<std::string> pass_env;  // names of variables that they get from our environment
};

// All that the plan of a job is made of. Blocks on name services. kInvalidArgument: the working
// directory or a variable is at fault.
Result<plan::Input> InputOf(const spec::ResourceSpec& spec, const Program& program);

// Chooses the ports, except a master port that the person has chosen.
Status ChoosePorts(const Program& program, plan::Input& input);

// The plan that they make.
Result<v1::LaunchPlan> PlanJob(const spec::ResourceSpec& spec, const Program& program);

// --dialect, --per, --master-port, --env and --pass-env.
void AddProgramOptions(CLI::App& app, Program& program);

}  // namespace autodist::cli
