#include "files/glob.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

namespace autodist::files {
namespace {

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

}  // namespace

bool GlobMatches(std::string_view pattern, std::string_view path) {
  return Matcher(pattern, path).Matches();
}

}  // namespace autodist::files
