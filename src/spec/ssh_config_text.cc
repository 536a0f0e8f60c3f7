#include "spec/ssh_config_text.h"

#include <algorithm>

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

}  // namespace autodist::spec
