// autodist validate [FILE]
#include <cstdio>

#include "cli/commands.h"
#include "cli/nodes_options.h"
#include "cli/values.h"

namespace autodist::cli {
namespace {

struct ValidateOptions {
  std::string file;
  bool strict = false;
};

// The file of the command line, or the default spec.
Result<std::string> FileOf(const ValidateOptions& options) {
  if (!options.file.empty()) return options.file;
  AD_ASSIGN_OR_RETURN(std::string file, DefaultSpecFile());
  if (!file.empty()) return file;
  return WithRemedy(
      Error(StatusCode::kInvalidArgument,
            "validate: FILE is missing, and there is no autodist.yaml in this folder"),
      "give a spec, such as cluster.yaml; `autodist init --hosts gpu1,gpu2 --output "
      "cluster.yaml` writes one");
}

int Validate(const ValidateOptions& options) {
  const auto file = FileOf(options);
  if (!file.ok()) return Fail(file.status(), kExitUsage);
  const auto spec = ReadSpec(*file);
  if (!spec) return kExitUsage;
  const spec::Node* chief = spec->chief();
  if (options.strict && !chief) {
    return Fail(WithRemedy(Error(StatusCode::kInvalidArgument,
                                 *file + ": no node has chief: true (--strict)"),
                           "if autodist is to run on one of the nodes, add 'chief: true' to it; "
                           "otherwise leave --strict out"),
                kExitUsage);
  }
  std::printf("%s: valid: %s, %s\n", file->c_str(), SizeOf(*spec).c_str(),
              chief ? ("chief " + chief->address).c_str() : "launched from outside");
  return 0;
}

}  // namespace

Command AddValidate(CLI::App& app) {
  auto options = std::make_shared<ValidateOptions>();
  app.add_option(
         "FILE", options->file,
         "The resource spec, a YAML file; default: $AUTODIST_SPEC, or autodist.yaml in this "
         "folder")
      ->check(NotEmpty());
  app.add_flag("--strict", options->strict,
               "Also require one node with chief: true (AutoDist's rule)");
  app.footer(
      "\nPrints every mistake of the file as file:line:column; exit code 2 if there are any.");
  return [options] { return Validate(*options); };
}

}  // namespace autodist::cli
