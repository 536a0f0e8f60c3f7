// Which files a folder's ignore files leave out, by the rules of gitignore(5).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::files {

// The patterns of one folder's ignore files. What they say is for paths within that folder: "a/b".
class IgnoreRules {
 public:
  // Adds the lines of an ignore file; later lines win.
  void Add(std::string_view text);

  // Whether the path is left out; nullopt where no pattern matches, so that the folder above
  // decides. Says nothing of folders above the path: below one that is left out, all is.
  std::optional<bool> Ignores(std::string_view path, bool is_folder) const;

  bool empty() const { return patterns_.empty(); }

 private:
  struct Pattern {
    std::string text;   // without what the fields below say
    bool negated;       // began with '!'
    bool only_folders;  // ended with '/'
    bool any_depth;     // had no other '/': matches the last component, at any depth
  };

  void AddLine(std::string_view line);

  std::vector<Pattern> patterns_;
};

}  // namespace autodist::files
