#include "cli/program_options.h"

#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/quantity.h"
#include "cli/help_text.h"
#include "cli/values.h"
#include "reach/resolve.h"
#include "reach/this_machine.h"
#include "spec/yaml_reader.h"

namespace autodist::cli {
namespace {

const std::map<std::string, v1::ProgramKind> kKinds = {
    {"device", v1::PROGRAM_KIND_PER_DEVICE},
    {"node", v1::PROGRAM_KIND_PER_NODE},
    {"job", v1::PROGRAM_KIND_PER_JOB},
};

Result<std::vector<plan::Variable>> VariablesOf(const ProgramOptions& options) {
  std::vector<plan::Variable> variables;
  for (const std::string& text : options.env) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return WithRemedy(Error(StatusCode::kInvalidArgument, "--env " + text + " gives no value"),
                        "write --env " + text + "=VALUE, or --pass-env " + text);
    }
    variables.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  for (const std::string& name : options.pass_env) {
    const char* value = std::getenv(name.c_str());
    if (!value) {
      return WithRemedy(Error(StatusCode::kInvalidArgument,
                              "--pass-env " + name + ": the variable is not set here"),
                        "export it first, or leave the option out");
    }
    variables.push_back({name, value, true});
  }
  return variables;
}

}  // namespace

std::optional<spec::ResourceSpec> ReadOrDefaultSpec(const std::string& file) {
  return file.empty() ? spec::SingleNode(reach::LocalGpus()) : ReadSpec(file);
}

std::optional<spec::ResourceSpec> ReadSpec(const std::string& file) {
  spec::ReadOutcome outcome = spec::ReadSpecFile(file);
  for (const spec::Problem& problem : outcome.problems) {
    std::fprintf(stderr, "%s\n", problem.ToString().c_str());
  }
  return outcome.spec;
}

std::string SizeOf(const spec::ResourceSpec& spec) {
  size_t ranks = 0;
  for (const spec::Node& node : spec.nodes) {
    ranks += (node.gpus.empty() ? node.cpus : node.gpus).size();
  }
  return base::Count(spec.nodes.size(), "node") + ", " + base::Count(ranks, "rank");
}

void AddSpec(CLI::App& app, NodesOptions& options) {
  app.add_option("--spec", options.spec_file,
                 "The resource spec; without it, this machine alone, one rank per GPU")
      ->check(NotEmpty())
      ->type_name("FILE")
      ->group(group::kWhere);
}

void AddAgent(CLI::App& app, NodesOptions& options) {
  app.add_option("--agent", options.agent,
                 "The agent program to use; default: autodist-agent beside autodist")
      ->type_name("FILE")
      ->group(group::kExpert);
}

void AddFanOut(CLI::App& app, NodesOptions& options) {
  app.add_option("--fan-out", options.fan_out, "Nodes reached at the same time")
      ->check(WholeNumber(1, 4096))
      ->capture_default_str()
      ->group(group::kExpert);
}

Status CheckChiefIsHere(const v1::LaunchPlan& plan) {
  return reach::CheckChiefIsHere(plan.nodes(0).address(), plan.nodes(0).data_address());
}

void AddProgramOptions(CLI::App& app, ProgramOptions& options) {
  app.add_option_function<std::string>(
         "--per", [&options](const std::string& kind) { options.program.kind = kKinds.at(kind); },
         "How often the program is started: once per device; once per node, where it "
         "starts the node's ranks itself (torchrun); once per job, on the chief (mpirun)")
      ->check(OneOf({"device", "node", "job"}))
      ->default_str("device")
      ->group(group::kWhat);
  app.add_option("--dialect", options.program.dialects,
                 "Whose variables tell the ranks who they are, with commas between: torch, paddle, "
                 "jax, ... (`autodist dialects`); default: the launcher's, or torch")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAMES")
      ->group(group::kWhat);
  app.add_option("--master-port", options.program.master_port,
                 "Port of the ranks' rendezvous on the chief; default: one that is free")
      ->check(WholeNumber(1, 65535))
      ->group(group::kWhat);
  app.add_option("--env", options.env, "A variable for all processes on every node, as it is")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(group::kEnvironment);
  app.add_option("--pass-env", options.pass_env,
                 "A variable that all processes get from this environment, for secrets: its value "
                 "is never shown")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->group(group::kEnvironment);
}

Result<chief::Program> ProgramOf(const ProgramOptions& options) {
  chief::Program program = options.program;
  AD_ASSIGN_OR_RETURN(program.variables, VariablesOf(options));
  return program;
}

}  // namespace autodist::cli
