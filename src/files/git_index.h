// Which files git tracks, read from the repository's index. No git is run, and nothing of the
// repository's configuration is used, which may name programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"

namespace autodist::files {

// Paths within a folder, "a/b", that are in an index.
class TrackedFiles {
 public:
  TrackedFiles() = default;
  explicit TrackedFiles(std::vector<std::string> paths);

  bool Has(std::string_view path) const;
  // Whether a file below the folder is.
  bool HasBelow(std::string_view folder) const;
  bool empty() const { return paths_.empty(); }

 private:
  std::vector<std::string> paths_;  // sorted
};

// The paths in an index file's content, of version 2, 3 or 4, as gitformat-index(5) has it. Fails
// where that is not what it is, or part of it is in another file (a split index).
Result<std::vector<std::string>> ReadGitIndex(std::string_view content);

// What is tracked in `folder`, by the repository that it is in; empty where it is in none. `above`:
// whether to look for the repository in the folders above, too.
Result<TrackedFiles> FilesTrackedIn(const std::string& folder, bool above);

}  // namespace autodist::files
