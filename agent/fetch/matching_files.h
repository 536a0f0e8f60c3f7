// Finds the files of a folder on this node that the chief has requested.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "base/fd.h"
#include "files/file_patterns.h"

namespace autodist::agent {

struct MatchingFiles {
  base::UniqueFd folder;
  std::vector<std::string> paths;     // of regular files within it, by name
  uint64_t bytes = 0;                 // of these files at present
  std::vector<std::string> left_out;  // other matching entries, and unreadable ones, with reasons
};

// Follows symbolic links in the path of the folder, but none below it. kCancelled if `go_on`, which
// is called often, returns false. Blocks while it reads.
Result<MatchingFiles> FindFiles(const std::string& folder, const files::FilePatterns& patterns,
                                const std::function<bool()>& go_on);

// Opens a path within the folder for reading; invalid, with errno, if it is no longer a regular
// file.
base::UniqueFd OpenWithin(int folder, const std::string& path);

}  // namespace autodist::agent
