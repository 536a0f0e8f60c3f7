// autodist validate FILE
#include <cstdio>

#include "cli/commands.h"
#include "cli/nodes_options.h"

namespace autodist::cli {
namespace {

struct ValidateOptions {
  std::string file;
  bool strict = false;
};

int Validate(const ValidateOptions& options) {
  const auto spec = ReadSpec(options.file);
  if (!spec) return kExitUsage;
  const spec::Node* chief = spec->chief();
  if (options.strict && !chief) {
    return Fail(WithRemedy(Error(StatusCode::kInvalidArgument,
                                 options.file + ": no node has chief: true (--strict)"),
                           "add 'chief: true' to the node on which you run autodist"),
                kExitUsage);
  }
  std::printf("%s: valid: %s, %s\n", options.file.c_str(), SizeOf(*spec).c_str(),
              chief ? ("chief " + chief->address).c_str() : "launched from outside");
  return 0;
}

}  // namespace

Command AddValidate(CLI::App& app) {
  auto options = std::make_shared<ValidateOptions>();
  app.add_option("FILE", options->file, "The resource spec, a YAML file")->required();
  app.add_flag("--strict", options->strict,
               "Also require one node with chief: true (AutoDist's rule)");
  app.footer(
      "\nPrints every mistake of the file as file:line:column; exit code 2 if there are any.");
  return [options] { return Validate(*options); };
}

}  // namespace autodist::cli
