// Ignore files of a folder, with the rules of gitignore(5).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::files {

// The patterns in the ignore files of one folder. They apply to paths within that folder: "a/b".
class IgnoreRules {
 public:
  // Adds the lines of an ignore file; later lines take precedence.
  void Add(std::string_view text);

  // Whether the path is excluded; nullopt if no pattern matches, so that the parent folder's rules
  // decide. Does not check folders above the path: everything below an excluded folder is excluded.
  std::optional<bool> Ignores(std::string_view path, bool is_folder) const;

  bool empty() const { return patterns_.empty(); }

 private:
  struct Pattern {
    std::string text;   // without the parts that set the fields below
    bool negated;       // began with '!'
    bool only_folders;  // ended with '/'
    bool any_depth;     // had no other '/': matches the last component, at any depth
  };

  void AddLine(std::string_view line);

  std::vector<Pattern> patterns_;
};

}  // namespace autodist::files
