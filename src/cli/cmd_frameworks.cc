// autodist frameworks [FRAMEWORK]
#include <algorithm>
#include <cstdio>

#include "base/shell_quote.h"
#include "cli/commands.h"
#include "framework/frameworks.h"
#include "plan/framework_variables.h"
#include "plan/plan_text.h"

namespace autodist::cli {
namespace {

void PrintNames(const std::vector<plan::ExampleVariable>& variables) {
  std::vector<std::string> names;
  names.reserve(variables.size());
  for (const auto& variable : variables) names.push_back(variable.name);
  std::printf("%s\n", plan::Wrapped(names, 5).c_str() + 1);  // without the leading line feed
}

void PrintValues(const std::vector<plan::ExampleVariable>& variables) {
  for (const auto& [name, value, on_chief] : variables) {
    std::printf("      %s=%s%s\n", name.c_str(), base::ShellQuote(value).c_str(),
                on_chief ? " (on node 0)" : "");
  }
}

int Frameworks(const std::string& name) {
  std::vector<const framework::Framework*> shown = framework::All();
  if (!name.empty()) {
    std::erase_if(shown,
                  [&](const framework::Framework* framework) { return framework->name != name; });
    if (shown.empty()) {
      return Fail(framework::Choose({name}, v1::PROGRAM_KIND_PER_DEVICE).status(), kExitUsage);
    }
  }
  for (const framework::Framework* framework : shown) {
    std::printf("%s: %s\n", framework->name, framework->programs);
    for (const v1::ProgramKind kind : framework->kinds) {
      const auto example = plan::ExampleOf(*framework, kind);
      if (!example.ok()) return Fail(example.status(), kExitUsage);
      std::printf("  %s\n", framework::OptionOf(kind));
      if (example->pmix) std::printf("      PMIx servers: MPI_Init needs no variables\n");
      if (example->variables.empty()) {
        std::printf("      nothing\n");
      } else if (name.empty()) {
        PrintNames(example->variables);
      } else {
        PrintValues(example->variables);
      }
      for (const auto& [process, address] : example->auxiliary) {
        std::printf("      and %s, on %s\n", process.c_str(), address.c_str());
      }
    }
  }
  return 0;
}

}  // namespace

Command AddFrameworks(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  app.add_option("FRAMEWORK", *name, "Only this framework, with example values");
  app.footer(R"(
Each framework reads its own variables to learn a process's rank and the address
of the others. autodist sets those of the chosen frameworks, and AUTODIST_* for
every program.

Examples:
  autodist frameworks
  autodist frameworks paddle
  autodist run --spec cluster.yaml --framework paddle -- python3 train.py)");
  return [name] { return Frameworks(*name); };
}

}  // namespace autodist::cli
