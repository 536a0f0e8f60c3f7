// The generated pages of docs/reference: one for each command, and the variables of each framework.
#pragma once

#include <string>
#include <vector>

#include "autodist/status.h"
#include "cli/command_tree.h"

namespace autodist::cli {

struct ReferencePage {
  std::string path;  // below docs/reference: "commands/run.md"
  std::string text;  // Markdown
};

// Pure logic. Fails if a framework cannot make a plan for its example.
Result<std::vector<ReferencePage>> ReferencePages(const CommandTree& tree);

}  // namespace autodist::cli
