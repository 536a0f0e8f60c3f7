#include "base/shell_quote.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include <algorithm>
#include <cctype>

namespace autodist::base {

std::string ShellQuote(std::string_view argument) {
  const bool plain = !argument.empty() && std::all_of(argument.begin(), argument.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("@%_+=:,./-").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(argument);
  return "'" + absl::StrReplaceAll(std::string(argument), {{"'", "'\\''"}}) + "'";
}

std::string ShellLine(const std::vector<std::string>& argv) {
  return absl::StrJoin(argv, " ", [](std::string* line, const std::string& argument) {
    *line += ShellQuote(argument);
  });
}

}  // namespace autodist::base
