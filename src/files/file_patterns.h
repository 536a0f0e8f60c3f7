// Selects files of a folder by patterns of the user, "ckpt*" or "out/**/*.pt", and by ignore files.
// Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
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

// The patterns in the ignore files of one folder, with the rules of gitignore(5). They apply to
// paths within that folder: "a/b".
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

// The ignore files in one folder of a tree.
struct IgnoreFiles {
  std::string folder;  // its path in the tree: "", or "a/b"
  std::string git;     // the content of .gitignore
  std::string own;     // the content of .autodistignore, which takes precedence
};

// The ignore files of a tree: which paths --sync copies.
class IgnoreTree {
 public:
  enum class Fate { kCopied, kLeftOut, kIgnoredByGit };

  void Add(const IgnoreFiles& files);

  // Applies the rules of the folders above the path, of which the deepest take precedence.
  // `within_ignored`: whether .gitignore excludes the folder of the path.
  Fate FateOf(std::string_view path, bool is_folder, bool within_ignored) const;

 private:
  struct Rules {
    IgnoreRules git;
    IgnoreRules own;
  };

  std::map<std::string, Rules, std::less<>> folders_;  // those with rules
};

}  // namespace autodist::files
