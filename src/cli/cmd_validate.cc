// autodist validate FILE
#include <cstdio>

#include "cli/commands.h"
#include "cli/nodes_options.h"

namespace autodist::cli {
namespace {

int Validate(const std::string& file) {
  const auto spec = ReadSpec(file);
  if (!spec) return kExitUsage;
  std::printf("%s: valid: %s, chief %s\n", file.c_str(), SizeOf(*spec).c_str(),
              spec->chief().address.c_str());
  return 0;
}

}  // namespace

Command AddValidate(CLI::App& app) {
  auto file = std::make_shared<std::string>();
  app.add_option("FILE", *file, "The resource spec, a YAML file")->required();
  app.footer(
      "\nPrints every mistake of the file as file:line:column; exit code 2 if there are any.");
  return [file] { return Validate(*file); };
}

}  // namespace autodist::cli
