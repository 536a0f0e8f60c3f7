// Reads a resource spec from YAML, telling everything that is wrong with it at once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/foreign_file.h"
#include "spec/issue.h"
#include "spec/resource_spec.h"
#include "spec/ssh_section.h"

namespace autodist::spec {

// Either a spec, or at least one issue.
struct ReadOutcome {
  std::optional<ResourceSpec> spec;
  std::vector<KeyFile> key_files;      // of the spec, in file order
  std::vector<Issue> issues;           // in file order
  std::optional<ForeignFile> foreign;  // which it is instead; the issue says so
};

// Reads `text`; `file` only names it in issues. Never throws, whatever the text is.
ReadOutcome ReadSpec(const std::string& text, const std::string& file);

// Of the spec itself; NodeKeyTexts() and GroupKeyTexts() have those of its nodes and ssh groups.
std::vector<KeyText> SpecKeyTexts();

// Reads the file at `path`, of 1 MiB at most.
ReadOutcome ReadSpecFile(const std::string& path);

}  // namespace autodist::spec
