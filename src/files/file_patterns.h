// The files of a folder that a person means by patterns: "ckpt*", "out/**/*.pt".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"

namespace autodist::files {

// A pattern is for paths within the folder, "a/b": '*', '?' and '[...]' stay within a name, "**"
// stands for any folders. One that matches a folder means all that is in it.
class FilePatterns {
 public:
  // kInvalidArgument, in the words of who wrote them, where one leads out of the folder.
  static Result<FilePatterns> Parse(const std::vector<std::string>& patterns);

  // Whether a pattern matches the path itself; what folder it is in has no say.
  bool Match(std::string_view path) const;
  // Whether any may match what is in the folder.
  bool MayMatchIn(std::string_view folder) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace autodist::files
