// The program on the command line, and what it is told.
#pragma once

#include <string>
#include <vector>

#include "chief/plan_job.h"
#include "cli/commands.h"

namespace autodist::cli {

struct ProgramOptions {
  chief::Program program;             // without its variables
  std::vector<std::string> env;       // "NAME=VALUE", for all processes
  std::vector<std::string> pass_env;  // names of variables that they get from our environment
};

// --dialect, --per, --master-port, --workdir, --env and --pass-env.
void AddProgramOptions(CLI::App& app, ProgramOptions& options);

// With its variables. kInvalidArgument: one of them is at fault.
Result<chief::Program> ProgramOf(const ProgramOptions& options);

}  // namespace autodist::cli
