// Reads a resource spec from YAML, and reports all its issues at once.
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
  std::optional<ForeignFile> foreign;  // the other file type, which the issue names
};

// Reads `text`; `file` is only for messages. Never throws.
ReadOutcome ReadSpec(const std::string& text, const std::string& file);

// The keys of the spec itself; see NodeKeyTexts() and GroupKeyTexts() for nodes and ssh groups.
std::vector<KeyText> SpecKeyTexts();

// Reads the file at `path`, 1 MiB at most.
ReadOutcome ReadSpecFile(const std::string& path);

}  // namespace autodist::spec
