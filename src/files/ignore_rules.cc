#include "files/ignore_rules.h"

#include <utility>

#include "base/split.h"
#include "files/glob.h"

namespace autodist::files {
namespace {

// Trailing spaces count only after a backslash.
std::string_view WithoutTrailingSpaces(std::string_view line) {
  size_t end = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool escaped = line[i] == '\\';
    if (escaped) ++i;
    if (escaped || line[i] != ' ') end = i + 1;
  }
  return line.substr(0, end);
}

}  // namespace

void IgnoreRules::Add(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (std::string_view line : base::Split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    AddLine(line);
  }
}

void IgnoreRules::AddLine(std::string_view line) {
  if (line.starts_with('#')) return;
  line = WithoutTrailingSpaces(line);
  Pattern pattern{};
  pattern.negated = line.starts_with('!');
  if (pattern.negated) line.remove_prefix(1);
  pattern.only_folders = line.ends_with('/');
  if (pattern.only_folders) line.remove_suffix(1);
  pattern.any_depth = line.find('/') == std::string_view::npos;
  if (line.starts_with('/')) line.remove_prefix(1);
  if (line.empty()) return;
  pattern.text = line;
  patterns_.push_back(std::move(pattern));
}

std::optional<bool> IgnoreRules::Ignores(std::string_view path, bool is_folder) const {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (auto pattern = patterns_.rbegin(); pattern != patterns_.rend(); ++pattern) {
    if (pattern->only_folders && !is_folder) continue;
    if (GlobMatches(pattern->text, pattern->any_depth ? name : path)) return !pattern->negated;
  }
  return std::nullopt;
}

}  // namespace autodist::files
