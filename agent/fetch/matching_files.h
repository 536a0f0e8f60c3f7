// The files of a folder on this node that the chief wants.
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
  uint64_t bytes = 0;                 // of these, by now
  std::vector<std::string> left_out;  // what matches and is none, or cannot be looked at; and why
};

// The way to the folder may lead through symbolic links; below it none is followed. kCancelled
// where `go_on`, which is called often, says no. Blocks while it reads.
Result<MatchingFiles> FindFiles(const std::string& folder, const files::FilePatterns& patterns,
                                const std::function<bool()>& go_on);

// For reading, by a path within the folder that was found; where it is no regular file any more, it
// is not valid, and errno tells why.
base::UniqueFd OpenWithin(int folder, const std::string& path);

}  // namespace autodist::agent
