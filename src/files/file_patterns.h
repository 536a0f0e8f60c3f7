// Selects files of a folder by patterns of the user: "ckpt*", "out/**/*.pt".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"

namespace autodist::files {

// A pattern applies to paths within the folder, "a/b": '*', '?' and '[...]' do not match '/', "**"
// matches any folders. A pattern that matches a folder selects all its contents.
class FilePatterns {
 public:
  // kInvalidArgument, quoting the pattern, if one leads out of the folder.
  static Result<FilePatterns> Parse(const std::vector<std::string>& patterns);

  // Whether a pattern matches the path itself, regardless of parent folders.
  bool Match(std::string_view path) const;
  // Whether a pattern may match anything in the folder.
  bool MayMatchIn(std::string_view folder) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace autodist::files
