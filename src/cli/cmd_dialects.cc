// autodist dialects [DIALECT]
#include <algorithm>
#include <cstdio>

#include "base/shell_quote.h"
#include "cli/commands.h"
#include "dialect/dialects.h"
#include "plan/dialect_variables.h"
#include "plan/plan_text.h"

namespace autodist::cli {
namespace {

void PrintNames(const std::vector<plan::ExampleVariable>& variables) {
  std::vector<std::string> names;
  names.reserve(variables.size());
  for (const auto& variable : variables) names.push_back(variable.name);
  std::printf("%s\n", plan::Wrapped(names, 5).c_str() + 1);  // without its line feed
}

void PrintValues(const std::vector<plan::ExampleVariable>& variables) {
  for (const auto& [name, value, on_chief] : variables) {
    std::printf("      %s=%s%s\n", name.c_str(), base::ShellQuote(value).c_str(),
                on_chief ? " (on the chief)" : "");
  }
}

int Dialects(const std::string& name) {
  std::vector<const dialect::Dialect*> shown = dialect::All();
  if (!name.empty()) {
    std::erase_if(shown, [&](const dialect::Dialect* dialect) { return dialect->name != name; });
    if (shown.empty()) {
      return Fail(dialect::Choose({name}, v1::PROGRAM_KIND_PER_DEVICE).status(), kExitUsage);
    }
  }
  for (const dialect::Dialect* dialect : shown) {
    std::printf("%s: %s\n", dialect->name, dialect->programs);
    for (const v1::ProgramKind kind : dialect->kinds) {
      const auto reported = plan::WhatIsTold(*dialect, kind);
      if (!reported.ok()) return Fail(reported.status(), kExitUsage);
      std::printf("  %s\n", dialect::OptionOf(kind));
      if (reported->pmix) std::printf("      PMIx servers: MPI_Init finds the world by itself\n");
      if (reported->variables.empty()) {
        std::printf("      nothing\n");
      } else if (name.empty()) {
        PrintNames(reported->variables);
      } else {
        PrintValues(reported->variables);
      }
      for (const auto& [process, address] : reported->auxiliary) {
        std::printf("      and %s, on %s\n", process.c_str(), address.c_str());
      }
    }
  }
  return 0;
}

}  // namespace

Command AddDialects(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  app.add_option("DIALECT", *name, "Only this one, with example values");
  app.footer(R"(
A dialect is the set of variables by which the programs of a framework learn who they are. Every
program finds AUTODIST_* besides.

Examples:
  autodist dialects
  autodist dialects paddle
  autodist run --spec cluster.yaml --dialect paddle -- python train.py)");
  return [name] { return Dialects(*name); };
}

}  // namespace autodist::cli
