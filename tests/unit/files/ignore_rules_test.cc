// Compares with git on random trees and patterns; a table has the most important rules.
#include "files/file_patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>
#include <sstream>

#include "files/file_tree.h"
#include "support/shell.h"
#include "support/temp_folder.h"

namespace autodist::files {
namespace {

TEST(IgnoreTreeTest, DeeperRulesAndAutodistignoreTakePrecedence) {
  using Fate = IgnoreTree::Fate;
  IgnoreTree tree;
  tree.Add({"", "*.o\n/top\n", "data\n!keep.o\n"});
  tree.Add({"sub/deep", "!*.o\n", "*.log\n"});
  const struct {
    const char* path;
    bool within_ignored;
    Fate fate;
  } cases[] = {
      {"a.o", false, Fate::kIgnoredByGit},       {"keep.o", false, Fate::kCopied},
      {"keep.o", true, Fate::kCopied},           {"top", false, Fate::kIgnoredByGit},
      {"sub/top", false, Fate::kCopied},         {"sub/top", true, Fate::kIgnoredByGit},
      {"sub/data", false, Fate::kLeftOut},       {"sub/deep/a.o", false, Fate::kCopied},
      {"sub/deep/a.log", false, Fate::kLeftOut}, {"sub/deep/data", false, Fate::kLeftOut},
      {"sub/a.log", false, Fate::kCopied},
  };
  for (const auto& it : cases) {
    EXPECT_EQ(tree.FateOf(it.path, false, it.within_ignored), it.fate) << it.path;
  }
}

struct Case {
  const char* rules;
  const char* path;
  std::optional<bool> ignored;
  bool is_folder = false;
};

TEST(IgnoreRulesTest, PatternsMatch) {
  const Case cases[] = {
      {"*.o", "a.o", true},
      {"*.o", "src/deep/a.o", true},
      {"*.o", "a.c", std::nullopt},
      {"# a\n\\#b", "#b", true},
      {"\\!a", "!a", true},
      {"*.o\n!keep.o", "src/keep.o", false},
      {"!keep.o\n*.o", "keep.o", true},
      {"/a", "a", true},
      {"/a", "src/a", std::nullopt},
      {"src/a", "src/a", true},
      {"src/a", "b/src/a", std::nullopt},
      {"build/", "build", std::nullopt},
      {"build/", "build", true, true},
      {"build/", "src/build", true, true},
      {"**/logs", "logs", true},
      {"**/logs", "a/b/logs", true},
      {"a/**/b", "a/b", true},
      {"a/**/b", "a/x/y/b", true},
      {"a/**", "a/x/y", true},
      {"a/**", "a", std::nullopt, true},
      {"a*b/c", "axxb/c", true},
      {"a*b/c", "ax/xb/c", std::nullopt},
      {"a?c", "abc", true},
      {"x/a?c", "x/a/c", std::nullopt},
      {"[a-c]x", "bx", true},
      {"[!a-c]x", "bx", std::nullopt},
      {"[]x]", "]", true},
      {"[[:digit:]]", "7", true},
      {"[[:digit:]]", "x", std::nullopt},
      {"[abc", "a", std::nullopt},
      {"a ", "a", true},
      {"a\\ ", "a ", true},
      {"a\\\\ ", "a\\", true},
      {"a\r\n", "a", true},
      {"\xEF\xBB\xBF"
       "a",
       "a", true},
      {"\n\n/\n!\n", "a", std::nullopt},
      {"a\\", "a", std::nullopt},
  };
  for (const Case& c : cases) {
    IgnoreRules rules;
    rules.Add(c.rules);
    EXPECT_EQ(rules.Ignores(c.path, c.is_folder), c.ignored) << c.rules << "  on  " << c.path;
  }
}

TEST(IgnoreRulesTest, ManyStarsAreFast) {
  IgnoreRules rules;
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "a*";
  rules.Add(pattern + "b\n" + "x/" + pattern + "**/**/b");
  EXPECT_EQ(rules.Ignores(std::string(4000, 'a'), false), std::nullopt);
}

// Trees and patterns with few letters, so that they match.
class RandomTree {
 public:
  explicit RandomTree(unsigned seed) : random_(seed) {}

  void Make(const std::string& folder, int depth) {
    if (Below(3) != 0) WriteRules(folder + "/.gitignore");
    for (int i = Below(5) + 1; i > 0; --i) {
      const std::string path = folder + "/" + Name();
      if (std::filesystem::exists(path)) continue;
      if (depth > 0 && Below(2) == 0) {
        std::filesystem::create_directory(path);
        Make(path, depth - 1);
      } else if (Below(8) == 0) {
        std::filesystem::create_symlink(".", path);
      } else {
        std::ofstream(path) << "x";
      }
    }
  }

 private:
  int Below(int limit) { return std::uniform_int_distribution(0, limit - 1)(random_); }
  template <size_t N>
  std::string OneOf(const char* const (&choices)[N]) {
    return choices[Below(N)];
  }
  std::string Name() {
    std::string name;
    for (int i = Below(3) + 1; i > 0; --i)
      name += OneOf({"a", "b", "c", ".", "-", "!", "#", " ", "]", "\\"});
    return name == "." || name == ".." ? "a" : name;
  }
  std::string Component() {
    if (Below(6) == 0) return "**";
    std::string component;
    for (int i = Below(3) + 1; i > 0; --i) {
      component += OneOf({"a",    "b",           "c",           "a",      "b",    "c",      "*",
                          "*",    "?",           ".",           "[ab]",   "[!a]", "[^b-c]", "[a-]",
                          "[]a]", "[[:alpha:]]", "[[:punct:]]", "[\\]b]", "\\a",  "\\*",    "\\ ",
                          "!",    "#",           "[",           "[a",     " ",    "\\\\"});
    }
    return component;
  }
  void WriteRules(const std::string& path) {
    std::ofstream file(path, std::ios::binary);
    for (int i = Below(5) + 1; i > 0; --i) {
      if (Below(4) == 0) file << "!";
      if (Below(4) == 0) file << "/";
      file << Component();
      for (int j = Below(3); j > 0; --j) file << "/" << Component();
      file << OneOf({"", "", "", "/", " ", "\r"}) << "\n";
    }
  }

  std::mt19937 random_;
};

std::set<std::string> SplitAtNul(const std::string& text) {
  std::set<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, '\0');) parts.insert(part);
  return parts;
}

TEST(IgnoreRulesTest, AgreeWithGitOnRandomTrees) {
  size_t seen = 0;
  size_t ignored = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const test::TempFolder folder;
    RandomTree(seed).Make(folder.path(), 3);
    // Only the tree's own files may apply.
    const std::string git = "cd " + folder.path() +
                            " && GIT_CONFIG_GLOBAL=/dev/null "
                            "GIT_CONFIG_SYSTEM=/dev/null XDG_CONFIG_HOME=/nonexistent git ";
    test::Shell(git + "init -q");
    const auto wanted = SplitAtNul(test::Shell(git + "ls-files -coz --exclude-standard"));
    const auto all = SplitAtNul(test::Shell(git + "ls-files -coz"));
    const auto tree = ScanFolder(folder.path(), "");
    ASSERT_TRUE(tree.ok()) << tree.status();
    std::set<std::string> found;
    for (const FileEntry& entry : tree->entries) {
      if (entry.type != FileType::kFolder) found.insert(entry.path);
    }
    ASSERT_EQ(found, wanted)
        << "seed " << seed << "\n"
        << test::Shell(
               "cd " + folder.path() +
               " && find . -name .git -prune -o "
               "-name .gitignore -exec grep -H '' {} +; find . -name .git -prune -o -print");
    seen += all.size();
    ignored += all.size() - wanted.size();
  }
  // The comparison is only useful if both happen often.
  EXPECT_GT(ignored, seen / 10);
  EXPECT_LT(ignored, seen - seen / 10);
}

}  // namespace
}  // namespace autodist::files
