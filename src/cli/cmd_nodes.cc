// autodist nodes [--exclude NODE [--why TEXT]] [--forget NODE]
#include <algorithm>
#include <cstdio>

#include "base/exit_codes.h"
#include "base/log.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/values.h"
#include "control/faulty_nodes.h"

namespace autodist::cli {
namespace {

CLI::Validator NodeAddress() {
  return {[](const std::string& text) -> std::string {
            const bool bad = text.empty() || text.starts_with('#') ||
                             text.find_first_of(" \t\n") != std::string::npos;
            return bad ? "'" + text + "' is no address of a node" : "";
          },
          "NODE"};
}

struct NodesOptions {
  std::string exclude;
  std::string why = "excluded by hand";
  std::string forget;
};

int List() {
  const auto file = control::FaultyNodesFile();
  const auto nodes = file.ok() ? control::ReadFaultyNodes() : file.status();
  if (!nodes.ok()) return Fail(nodes.status(), kExitCannotLaunch);
  if (nodes->empty()) {
    base::Log(base::LogLevel::kInfo, "no node is remembered as faulty");
    return 0;
  }
  size_t width = 0;
  for (const auto& node : *nodes) width = std::max(width, node.address.size());
  for (const auto& node : *nodes) {
    std::printf("%-*s  %s  %s\n", static_cast<int>(width), base::Printable(node.address).c_str(),
                base::Printable(node.since).c_str(), base::Printable(node.why).c_str());
  }
  base::Log(base::LogLevel::kInfo, "recorded in " + *file);
  return 0;
}

int Nodes(const NodesOptions& options) {
  if (!options.forget.empty()) {
    const Status forgotten = control::ForgetFaultyNode(options.forget);
    return forgotten.ok() ? 0 : Fail(forgotten, kExitCannotLaunch);
  }
  if (options.exclude.empty()) return List();
  const Status remembered = control::RememberFaultyNode(options.exclude, options.why);
  return remembered.ok() ? 0 : Fail(remembered, kExitCannotLaunch);
}

}  // namespace

Command AddNodesCommand(CLI::App& app) {
  auto options = std::make_shared<NodesOptions>();
  auto* const exclude = app.add_option("--exclude", options->exclude, "Remember a node as faulty")
                            ->check(NodeAddress());
  app.add_option("--why", options->why, "With --exclude: the reason, which runs print")
      ->check(NotEmpty("TEXT"))
      ->needs(exclude)
      ->capture_default_str();
  app.add_option("--forget", options->forget, "Use a node again")
      ->check(NodeAddress())
      ->excludes(exclude);
  app.footer(R"(
Lists the nodes that autodist remembers as faulty on this machine. A node is
remembered when a GPU there needed repair during a job. Runs with --spares
or --min-nodes do without it; other runs warn, or start nothing with --health
strict. The list is a text file that can be edited.

Examples:
  autodist nodes
  autodist nodes --exclude gpu7 --why 'fan is broken'
  autodist nodes --forget gpu7)");
  return [options] { return Nodes(*options); };
}

}  // namespace autodist::cli
