// Reads a resource spec from YAML, telling everything that is wrong with it at once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/resource_spec.h"

namespace autodist::spec {

// One thing that is wrong in a spec file.
struct Problem {
  std::string file;
  int line = 0;  // from 1; 0 where the file as a whole is meant
  int column = 0;
  std::string what;  // what is wrong, and what would be right

  // "file:line:column: what"
  std::string ToString() const;
};

// Either a spec, or at least one problem.
struct ReadOutcome {
  std::optional<ResourceSpec> spec;
  std::vector<Problem> problems;  // in file order
};

// Reads `text`; `file` only names it in problems. Never throws, whatever the text is.
ReadOutcome ReadSpec(const std::string& text, const std::string& file);

// Reads the file at `path`, of 1 MiB at most.
ReadOutcome ReadSpecFile(const std::string& path);

}  // namespace autodist::spec
