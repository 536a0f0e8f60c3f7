// The spec and the program on the command line, of every command that reaches nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chief/plan_job.h"
#include "cli/commands.h"
#include "spec/resource_spec.h"

namespace autodist::cli {

// Reads the file; "" means this machine alone. Prints what is wrong with it and gives nullopt.
std::optional<spec::ResourceSpec> ReadOrDefaultSpec(const std::string& file);

struct ProgramOptions {
  chief::Program program;             // without its variables
  std::vector<std::string> env;       // "NAME=VALUE", for all processes
  std::vector<std::string> pass_env;  // names of variables that they get from our environment
};

// --dialect, --per, --master-port, --env and --pass-env.
void AddProgramOptions(CLI::App& app, ProgramOptions& options);

// With its variables. kInvalidArgument: one of them is at fault.
Result<chief::Program> ProgramOf(const ProgramOptions& options);

}  // namespace autodist::cli
