#include "spec/ssh_config_text.h"

#include <algorithm>

namespace autodist::spec {
namespace {

constexpr std::string_view kConfigBlanks = " \t\r\f";

bool IsConfigBlank(char c) { return kConfigBlanks.find(c) != std::string_view::npos; }

// Reads the word at `at`, which then is behind it. `ends` end it besides blanks.
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

bool MatchesSshPattern(std::string_view name, std::string_view pattern) {
  // Where to go on once more is behind the last '*', with one character more of the name for it.
  size_t at = 0;
  size_t in_name = 0;
  size_t star = std::string_view::npos;
  size_t after_star = 0;
  while (in_name < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      after_star = in_name;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[in_name])) {
      ++at;
      ++in_name;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_name = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

bool MatchesSshPatterns(std::string_view name, const std::vector<std::string>& patterns) {
  bool matches = false;
  for (const std::string_view pattern : patterns) {
    const bool negated = pattern.starts_with('!');
    if (!MatchesSshPattern(name, negated ? pattern.substr(1) : pattern)) continue;
    if (negated) return false;
    matches = true;
  }
  return matches;
}

}  // namespace autodist::spec
