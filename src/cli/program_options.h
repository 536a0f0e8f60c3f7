// The spec and the program on the command line, of every command that reaches nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chief/plan_job.h"
#include "cli/commands.h"
#include "launch/launch_options.h"
#include "spec/resource_spec.h"

namespace autodist::cli {

// Prints what is wrong with the file, and gives nullopt then.
std::optional<spec::ResourceSpec> ReadSpec(const std::string& file);
// The same, where "" means this machine alone.
std::optional<spec::ResourceSpec> ReadOrDefaultSpec(const std::string& file);

// "2 nodes, 16 ranks".
std::string SizeOf(const spec::ResourceSpec& spec);

// The nodes, and how they are reached.
struct NodesOptions {
  std::string spec_file;
  std::string agent;
  uint32_t fan_out = launch::LaunchOptions().fan_out;
};

void AddSpec(CLI::App& app, NodesOptions& options);
void AddAgent(CLI::App& app, NodesOptions& options);
void AddFanOut(CLI::App& app, NodesOptions& options);

// kInvalidArgument: the plan's chief is another machine.
Status CheckChiefIsHere(const v1::LaunchPlan& plan);

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
