// autodist validate FILE
#include <cstdio>

#include "base/count.h"
#include "cli/commands.h"
#include "spec/yaml_reader.h"

namespace autodist::cli {
namespace {

int Validate(const std::string& file) {
  const spec::ReadOutcome outcome = spec::ReadSpecFile(file);
  for (const spec::Problem& problem : outcome.problems) {
    std::fprintf(stderr, "%s\n", problem.ToString().c_str());
  }
  if (!outcome.spec) return kExitUsage;
  size_t ranks = 0;
  for (const spec::Node& node : outcome.spec->nodes) {
    ranks += (node.gpus.empty() ? node.cpus : node.gpus).size();
  }
  std::printf("%s: valid: %s, %s, chief %s\n", file.c_str(),
              base::Count(outcome.spec->nodes.size(), "node").c_str(),
              base::Count(ranks, "rank").c_str(), outcome.spec->chief().address.c_str());
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
