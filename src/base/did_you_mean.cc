#include "base/did_you_mean.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace autodist::base {
namespace {

bool SameLetter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

std::string_view WithoutDashes(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

// Counts insertions, deletions, substitutions and swaps of neighbors.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> distance(a.size() + 1, std::vector<size_t>(b.size() + 1));
  std::iota(distance[0].begin(), distance[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    distance[i][0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = distance[i - 1][j - 1] + (SameLetter(a[i - 1], b[j - 1]) ? 0 : 1);
      distance[i][j] = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, substituted});
      const bool swapped =
          i > 1 && j > 1 && SameLetter(a[i - 1], b[j - 2]) && SameLetter(a[i - 2], b[j - 1]);
      if (swapped) distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
    }
  }
  return distance[a.size()][b.size()];
}

}  // namespace

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t kMaxWordLength = 64;  // no valid key is longer
  if (word.size() > kMaxWordLength) return "";
  const std::string_view name = WithoutDashes(word);
  const std::string* best = nullptr;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::string_view known = WithoutDashes(candidate);
    const size_t distance = EditDistance(name, known);
    if (distance < best_distance && distance < known.size()) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best ? *best : "";
}

std::string Alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace autodist::base
