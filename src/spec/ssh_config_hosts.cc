#include "spec/ssh_config_hosts.h"

#include <absl/strings/str_join.h>
#include <fnmatch.h>
#include <glob.h>
#include <strings.h>

#include <algorithm>
#include <set>

#include "base/split.h"
#include "base/ssh_pattern.h"
#include "base/text_file.h"
#include "spec/address.h"
#include "spec/quoted.h"

namespace autodist::spec {
namespace {

constexpr std::string_view kConfigBlanks = " \t\r\f";

bool IsConfigBlank(char c) { return kConfigBlanks.find(c) != std::string_view::npos; }

// Reads the field at `at`, and moves `at` behind it. Blanks and `ends` terminate it.
std::string ReadConfigWord(std::string_view line, size_t& at, std::string_view ends) {
  std::string word;
  char quote = 0;
  for (; at < line.size(); ++at) {
    const char c = line[at];
    const char next = at + 1 < line.size() ? line[at + 1] : '\0';
    const bool escape =
        c == '\\' && (next == '"' || next == '\'' || next == '\\' || (quote == 0 && next == ' '));
    if (escape) {
      word += line[++at];
    } else if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote == 0 ? c : '\0';
    } else if (quote == 0 && (IsConfigBlank(c) || ends.find(c) != std::string_view::npos)) {
      break;
    } else {
      word += c;
    }
  }
  return word;
}

constexpr size_t kLargestConfig = 1 << 20;  // bytes
constexpr size_t kMaxIncluded = 1000;       // files of one pattern
constexpr size_t kMaxFiles = 10'000;        // of all patterns
constexpr size_t kMaxNested = 16;           // the limit of ssh
constexpr size_t kNamesShown = 10;

std::vector<std::string> FilesMatching(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), GLOB_TILDE, nullptr, &found) == 0) {
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return files;
}

bool IsKeyword(const std::string& word, const char* keyword) {
  return strcasecmp(word.c_str(), keyword) == 0;
}

std::vector<std::string> ListIn(const std::string& argument) {
  std::vector<std::string> parts;
  for (const std::string_view part : base::Split(argument, ',')) parts.emplace_back(part);
  return parts;
}

// The names that a block of the configuration applies to.
class Block {
 public:
  static Block All() { return {}; }
  static Block OfHost(const std::vector<std::string>& patterns) {
    Block block;
    block.lists_.push_back(patterns);
    return block;
  }
  // Uses only the criteria about the name; ssh evaluates the others later.
  static Block OfMatch(const std::vector<std::string>& arguments) {
    Block block;
    for (size_t i = 0; i + 1 < arguments.size(); ++i) {
      if (IsKeyword(arguments[i], "all") || IsKeyword(arguments[i], "canonical") ||
          IsKeyword(arguments[i], "final")) {
        continue;
      }
      const bool of_name =
          IsKeyword(arguments[i], "originalhost") || IsKeyword(arguments[i], "host");
      if (of_name) block.lists_.push_back(ListIn(arguments[i + 1]));
      ++i;
    }
    return block;
  }

  bool IsFor(const std::string& name) const {
    return std::ranges::all_of(
        lists_, [&](const auto& patterns) { return base::MatchesSshPatterns(name, patterns); });
  }

 private:
  std::vector<std::vector<std::string>> lists_;  // all must match
};

class Config {
 public:
  Config(std::string ssh_folder, std::string home, std::string pattern)
      : ssh_folder_(std::move(ssh_folder)),
        home_(std::move(home)),
        pattern_(std::move(pattern)),
        collector_(ssh_folder_ + "/config") {}

  HostList Read() {
    const std::string file = ssh_folder_ + "/config";
    const auto text = base::ReadTextFile(file, kLargestConfig);
    if (!text.ok()) return {{}, {{"--ssh-config", 0, 0, Message(text.status())}}, {}};
    ReadText(*text, file);
    return collector_.Take(NothingFound());
  }

 private:
  void ReadText(std::string_view text, const std::string& file) {
    files_.push_back(file);
    Block block = Block::All();  // also after an Include
    size_t number = 0;
    for (const std::string_view line : base::Split(text, '\n')) {
      const std::vector<std::string> words = SshConfigWords(line);
      ++number;
      if (words.empty()) continue;
      const std::string where = file + ":" + std::to_string(number) + ": ";
      const std::vector<std::string> arguments(words.begin() + 1, words.end());
      if (IsKeyword(words[0], "Host")) {
        block = Block::OfHost(arguments);
        for (const std::string& name : arguments) AddName(name, block, where, number);
      } else if (IsKeyword(words[0], "Match")) {
        block = Block::OfMatch(arguments);
        AddMatched(arguments, block, where, number);
      } else if (IsKeyword(words[0], "Include")) {
        around_.push_back(block);
        for (const std::string& path : arguments) Include(path, where);
        around_.pop_back();
      }
    }
    files_.pop_back();
  }

  void Include(std::string path, const std::string& where) {
    if (path.starts_with("~/")) {
      path = home_ + path.substr(1);
    } else if (!path.starts_with('/') && !path.starts_with('~')) {
      path = ssh_folder_ + "/" + path;
    }
    std::vector<std::string> files = FilesMatching(path);
    if (files.size() > kMaxIncluded) {
      collector_.Warn(where + "only the first " + std::to_string(kMaxIncluded) + " files of " +
                      Quoted(path) + " are read");
      files.resize(kMaxIncluded);
    }
    for (const std::string& file : files) {
      if (std::ranges::find(files_, file) != files_.end()) {
        collector_.Warn(where + "not included: " + file + " includes itself; ssh refuses that");
      } else if (files_.size() > kMaxNested) {
        collector_.Warn(where + "not included: " + file + " is more than " +
                        std::to_string(kMaxNested) + " Includes deep; ssh refuses that");
      } else if (++read_ > kMaxFiles) {
        if (read_ == kMaxFiles + 1) collector_.Warn(where + "too many files are included");
      } else if (const auto text = base::ReadTextFile(file, kLargestConfig); text.ok()) {
        ReadText(*text, file);
      } else {
        collector_.Warn(where + "not included: " + Message(text.status()));
      }
    }
  }

  // `Match originalhost a,b` is like `Host a b`.
  void AddMatched(const std::vector<std::string>& arguments, const Block& block,
                  const std::string& where, size_t line) {
    for (size_t i = 0; i + 1 < arguments.size(); ++i) {
      if (!IsKeyword(arguments[i], "originalhost")) continue;
      for (const std::string& name : ListIn(arguments[i + 1])) AddName(name, block, where, line);
    }
  }

  void AddName(const std::string& name, const Block& block, const std::string& where, size_t line) {
    if (name.empty() || IsSshPattern(name) || !block.IsFor(name)) return;
    if (!std::ranges::all_of(around_, [&](const Block& it) { return it.IsFor(name); })) return;
    if (!names_.insert(name).second) return;
    if (fnmatch(pattern_.c_str(), name.c_str(), 0) != 0) return;
    if (CheckHost(name).ok()) {
      collector_.Add({"", name, std::nullopt}, {line, 1});
    } else {
      collector_.Warn(where + Quoted(name) +
                      " is left out: a resource spec cannot have such a host name");
    }
  }

  std::string NothingFound() const {
    if (names_.empty()) return "no Host in it";
    std::vector<std::string> shown;
    for (const std::string& name : names_) {
      shown.push_back(shown.size() < kNamesShown ? Quoted(name) : "…");
      if (shown.size() > kNamesShown) break;
    }
    return "no Host in it matches " + Quoted(pattern_) + "; it has " + absl::StrJoin(shown, ", ");
  }

  std::string ssh_folder_;
  std::string home_;
  std::string pattern_;
  HostCollector collector_;
  std::vector<std::string> files_;  // being read, the outermost first
  std::vector<Block> around_;       // the blocks around their Includes
  size_t read_ = 0;                 // number of files
  std::set<std::string> names_;     // all that are not patterns
};

}  // namespace

std::vector<std::string> SshConfigWords(std::string_view line) {
  std::vector<std::string> words;
  size_t at = 0;
  const auto skip_blanks = [&] {
    while (at < line.size() && IsConfigBlank(line[at])) ++at;
  };
  for (skip_blanks(); at < line.size() && line[at] != '#'; skip_blanks()) {
    words.push_back(ReadConfigWord(line, at, words.empty() ? "=" : ""));
    if (words.size() > 1) continue;
    skip_blanks();
    if (at < line.size() && line[at] == '=') ++at;
  }
  return words;
}

HostList SshConfigHosts(const std::string& ssh_folder, const std::string& home,
                        const std::string& pattern) {
  return Config(ssh_folder, home, pattern).Read();
}

}  // namespace autodist::spec
