#include "cli/program_options.h"

#include "cli/field_option.h"
#include "cli/help_text.h"
#include "cli/values.h"

namespace autodist::cli {
namespace {

CLI::Validator WorkingDirectory() {
  return {[](const std::string& text) -> std::string {
            if (text.starts_with('/') || text.starts_with("~/")) return "";
            return "'" + text + "' is neither an absolute path nor one that begins with '~/'";
          },
          ""};
}

}  // namespace

void AddProgramOptions(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, "--per",
           "How often the program is started: once per device; once per node, where it "
           "starts the node's ranks itself (torchrun); once per job, on the chief (mpirun)")
      ->group(group::kWhat);
  AddField(app, request, "--dialect",
           "Whose variables tell the ranks who they are, with commas between: torch, paddle, "
           "jax, ... (`autodist dialects`); default: the launcher's, or torch")
      ->delimiter(',')
      ->type_name("DIALECTS")
      ->group(group::kWhat);
  AddField(app, request, "--master-port",
           "Port of the ranks' rendezvous on the chief; default: one that is free")
      ->check(WholeNumber(1, 65535))
      ->group(group::kWhat);
  AddField(app, request, "--workdir",
           "Where the program starts on the nodes: an absolute path, or '~/...' in quotes; "
           "default: as here, and where this machine is no node the same path below the home "
           "folder")
      ->check(WorkingDirectory())
      ->type_name("FOLDER")
      ->group(group::kWhat);
  AddField(app, request, "--env", "A variable for all processes on every node, as it is")
      ->type_name("NAME=VALUE")
      ->group(group::kEnvironment);
  AddField(app, request, "--pass-env",
           "A variable that all processes get from this environment, for secrets: its value "
           "is never shown")
      ->type_name("VARIABLE")
      ->group(group::kEnvironment);
}

}  // namespace autodist::cli
