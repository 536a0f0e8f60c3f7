// Lists the files that git tracks, from the index of the repository. Does not run git, and ignores
// the repository's configuration, which may name programs.
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
  // Whether a file below the folder is in the index.
  bool HasBelow(std::string_view folder) const;
  bool empty() const { return paths_.empty(); }

 private:
  std::vector<std::string> paths_;  // sorted
};

// Returns the paths in an index file's content, of version 2, 3 or 4, see gitformat-index(5). Fails
// if the content is invalid, or refers to another file (a split index).
Result<std::vector<std::string>> ReadGitIndex(std::string_view content);

// Returns the tracked files in `folder`, according to its repository; empty outside of
// repositories. Fails if another user than root owns the repository's index or its folder. `above`:
// whether to search for the repository in parent folders, too.
Result<TrackedFiles> FilesTrackedIn(const std::string& folder, bool above);

}  // namespace autodist::files
