#include "files/file_patterns.h"

#include <algorithm>

#include "base/split.h"
#include "files/glob.h"

namespace autodist::files {
namespace {

Status Refuse(const std::string& pattern, const std::string& why) {
  return WithRemedy(Error(StatusCode::kInvalidArgument, "the pattern '" + pattern + "' " + why),
                    "a pattern is for paths within the job's working directory, such as 'ckpt*' "
                    "or 'out/**/*.pt'");
}

// Converts "./a//b/" to "a/b"; "." stands for all contents of the folder.
Result<std::string> Normal(const std::string& pattern) {
  if (pattern.empty()) return Refuse(pattern, "is empty");
  if (pattern.front() == '/') return Refuse(pattern, "is an absolute path");
  if (pattern.find('\0') != std::string::npos) return Refuse(pattern, "has a zero byte");
  std::string normal;
  for (const std::string_view part : base::Split(pattern, '/')) {
    if (part == "..") return Refuse(pattern, "leads out of the folder with '..'");
    if (part.empty() || part == ".") continue;
    normal += (normal.empty() ? "" : "/") + std::string(part);
  }
  return normal.empty() ? "**" : normal;
}

bool MayMatchIn(std::string_view pattern, std::string_view folder) {
  const std::vector<std::string_view> parts = base::Split(pattern, '/');
  const std::vector<std::string_view> names = base::Split(folder, '/');
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == parts.size()) return false;
    if (parts[i].find("**") != std::string_view::npos) return true;
    if (!GlobMatches(parts[i], names[i])) return false;
  }
  return parts.size() > names.size();
}

}  // namespace

Result<FilePatterns> FilePatterns::Parse(const std::vector<std::string>& patterns) {
  FilePatterns parsed;
  for (const std::string& pattern : patterns) {
    AD_ASSIGN_OR_RETURN(std::string normal, Normal(pattern));
    parsed.patterns_.push_back(std::move(normal));
  }
  return parsed;
}

bool FilePatterns::Match(std::string_view path) const {
  return std::ranges::any_of(
      patterns_, [path](const std::string& pattern) { return GlobMatches(pattern, path); });
}

bool FilePatterns::MayMatchIn(std::string_view folder) const {
  return std::ranges::any_of(patterns_, [folder](const std::string& pattern) {
    return files::MayMatchIn(pattern, folder);
  });
}

}  // namespace autodist::files
