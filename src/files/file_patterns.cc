#include "files/file_patterns.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/split.h"

namespace autodist::files {
namespace {

// Path patterns of gitignore(5).

class Matcher {
 public:
  Matcher(std::string_view pattern, std::string_view path) : pattern_(pattern), path_(path) {}

  bool Matches() { return MatchesFrom(0, 0); }

 private:
  bool MatchesFrom(size_t p, size_t t);
  bool MatchesStars(size_t p, size_t t);
  bool MatchesClass(size_t& p, unsigned char c) const;
  std::optional<bool> MatchesNamedClass(size_t& p, unsigned char c) const;

  const std::string_view pattern_;
  const std::string_view path_;
  // Records for each star and position in the path whether there is no match from there, so that
  // many stars do not take exponential time.
  std::vector<bool> failed_;
};

bool Matcher::MatchesFrom(size_t p, size_t t) {
  for (; p < pattern_.size(); ++p, ++t) {
    const char wanted = pattern_[p];
    if (wanted == '*') return MatchesStars(p, t);
    if (t == path_.size()) return false;
    const char c = path_[t];
    if (wanted == '?') {
      if (c == '/') return false;
    } else if (wanted == '[') {
      if (!MatchesClass(p, static_cast<unsigned char>(c))) return false;
    } else {
      if (wanted == '\\' && ++p == pattern_.size()) return false;
      if (pattern_[p] != c) return false;
    }
  }
  return t == path_.size();
}

bool Matcher::MatchesStars(size_t p, size_t t) {
  const size_t begin = p;
  while (p < pattern_.size() && pattern_[p] == '*') ++p;
  // git splits off the literal beginning of a pattern, so the stars after it count as a beginning.
  const bool after_slash = begin == pattern_.find_first_of("*?[\\") || pattern_[begin - 1] == '/';
  const bool before_slash = p == pattern_.size() || pattern_[p] == '/';
  const bool any_folders = p - begin >= 2 && after_slash && before_slash;
  // "a/**/b" also matches "a/b".
  if (any_folders && p < pattern_.size() && MatchesFrom(p + 1, t)) return true;
  failed_.resize(pattern_.size() * (path_.size() + 1));
  for (size_t key = begin * (path_.size() + 1) + t; !failed_[key]; ++key, ++t) {
    if (MatchesFrom(p, t)) return true;
    failed_[key] = true;
    if (t == path_.size() || (path_[t] == '/' && !any_folders)) break;
  }
  return false;
}

// p is at '['; moves it to the ']'. An unterminated class matches nothing.
bool Matcher::MatchesClass(size_t& p, unsigned char c) const {
  const auto at = [this](size_t i) -> unsigned char {
    if (i >= pattern_.size()) return 0;
    return static_cast<unsigned char>(pattern_[i]);
  };
  ++p;
  const bool negated = at(p) == '!' || at(p) == '^';
  if (negated) ++p;
  bool found = false;
  unsigned char previous = 0;  // which may begin a range
  for (bool first = true; first || at(p) != ']'; first = false, ++p) {
    if (p >= pattern_.size()) return false;
    unsigned char current = at(p);
    if (current == '[' && at(p + 1) == ':') {
      const auto named = MatchesNamedClass(p, c);
      if (!named) return false;
      found |= *named;
      previous = at(p) == '[' ? '[' : 0;
      continue;
    }
    if (current == '-' && previous != 0 && p + 1 < pattern_.size() && at(p + 1) != ']') {
      current = at(++p);
      if (current == '\\') current = at(++p);
      if (current == 0) return false;
      found |= previous <= c && c <= current;
      previous = 0;
      continue;
    }
    if (current == '\\') current = at(++p);
    if (current == 0) return false;
    found |= current == c;
    previous = current;
  }
  return found != negated && c != '/';
}

// p is at "[:"; moves it to the ']' of ":]". Without ":]" the '[' is literal. nullopt for an
// unknown name.
std::optional<bool> Matcher::MatchesNamedClass(size_t& p, unsigned char c) const {
  using Test = int (*)(int);
  static constexpr std::pair<std::string_view, Test> kClasses[] = {
      {"alnum", std::isalnum}, {"alpha", std::isalpha}, {"blank", std::isblank},
      {"cntrl", std::iscntrl}, {"digit", std::isdigit}, {"graph", std::isgraph},
      {"lower", std::islower}, {"print", std::isprint}, {"punct", std::ispunct},
      {"space", std::isspace}, {"upper", std::isupper}, {"xdigit", std::isxdigit}};
  const size_t end = pattern_.find(']', p + 2);
  if (end == std::string_view::npos) return std::nullopt;
  if (end == p + 2 || pattern_[end - 1] != ':') return c == '[';
  const std::string_view name = pattern_.substr(p + 2, end - 1 - (p + 2));
  const auto* const found =
      std::ranges::find(kClasses, name, [](auto& known) { return known.first; });
  if (found == std::end(kClasses)) return std::nullopt;
  p = end;
  return found->second(c) != 0;
}

// Matches the pattern against the whole path, "a/b". '*', '?' and classes do not match '/'; "**"
// between slashes does.
bool GlobMatches(std::string_view pattern, std::string_view path) {
  return Matcher(pattern, path).Matches();
}

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

void IgnoreTree::Add(const IgnoreFiles& files) {
  Rules& rules = folders_[files.folder];
  rules.git.Add(files.git);
  rules.own.Add(files.own);
}

IgnoreTree::Fate IgnoreTree::FateOf(std::string_view path, bool is_folder,
                                    bool within_ignored) const {
  std::optional<bool> by_git;
  std::string_view folder = path;
  while (!by_git && !folder.empty()) {
    const size_t slash = folder.rfind('/');
    folder = folder.substr(0, slash == std::string_view::npos ? 0 : slash);
    const auto rules = folders_.find(folder);
    if (rules == folders_.end()) continue;
    const std::string_view within = folder.empty() ? path : path.substr(folder.size() + 1);
    if (const auto own = rules->second.own.Ignores(within, is_folder)) {
      return *own ? Fate::kLeftOut : Fate::kCopied;
    }
    by_git = rules->second.git.Ignores(within, is_folder);
  }
  return by_git.value_or(false) || within_ignored ? Fate::kIgnoredByGit : Fate::kCopied;
}

}  // namespace autodist::files
