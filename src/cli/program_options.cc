#include "cli/program_options.h"

#include <cstdlib>
#include <map>

#include "cli/help_text.h"
#include "cli/values.h"

namespace autodist::cli {
namespace {

const std::map<std::string, v1::ProgramKind> kKinds = {
    {"device", v1::PROGRAM_KIND_PER_DEVICE},
    {"node", v1::PROGRAM_KIND_PER_NODE},
    {"job", v1::PROGRAM_KIND_PER_JOB},
};

CLI::Validator WorkingDirectory() {
  return {[](const std::string& text) -> std::string {
            if (text.starts_with('/') || text.starts_with("~/")) return "";
            return "'" + text + "' is neither an absolute path nor one that begins with '~/'";
          },
          ""};
}

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
      ->type_name("DIALECTS")
      ->group(group::kWhat);
  app.add_option("--master-port", options.program.master_port,
                 "Port of the ranks' rendezvous on the chief; default: one that is free")
      ->check(WholeNumber(1, 65535))
      ->group(group::kWhat);
  app.add_option("--workdir", options.program.working_directory,
                 "Where the program starts on the nodes: an absolute path, or '~/...' in quotes; "
                 "default: as here, and where this machine is no node the same path below the home "
                 "folder")
      ->check(WorkingDirectory())
      ->type_name("FOLDER")
      ->group(group::kWhat);
  app.add_option("--env", options.env, "A variable for all processes on every node, as it is")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(group::kEnvironment);
  app.add_option("--pass-env", options.pass_env,
                 "A variable that all processes get from this environment, for secrets: its value "
                 "is never shown")
      ->type_name("VARIABLE")
      ->allow_extra_args(false)
      ->group(group::kEnvironment);
}

Result<chief::Program> ProgramOf(const ProgramOptions& options) {
  chief::Program program = options.program;
  AD_ASSIGN_OR_RETURN(program.variables, VariablesOf(options));
  return program;
}

}  // namespace autodist::cli
