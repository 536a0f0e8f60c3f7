#include "scripts/scripts.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>

#include "base/embedded_file.h"
#include "base/split.h"

namespace autodist::scripts {

std::span<const base::EmbeddedFile> Files();

std::string OneLine(std::string_view file) {
  std::string script;
  for (const std::string_view line : base::Lines(file)) {
    const std::string_view text = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    if (text.empty() || text.starts_with('#')) continue;
    if (!script.empty()) script += ' ';
    script += text;
  }
  return script;
}

std::string Script(std::initializer_list<std::string_view> names) {
  static const std::map<std::string, std::string, std::less<>> all = [] {
    std::map<std::string, std::string, std::less<>> lines;
    for (const auto& [name, content] : Files()) lines.emplace(name, OneLine(content));
    return lines;
  }();
  std::string script;
  for (const std::string_view name : names) {
    if (!script.empty()) script += ' ';
    script += all.at(std::string(name) + ".sh");
  }
  return script;
}

}  // namespace autodist::scripts
