// "Did you mean": the known word that is closest to a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autodist::base {

// The candidate with the smallest edit distance to `word`, or "" if none is near enough to be
// what was meant.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

// "a", "a or b", "a, b or c".
std::string Alternatives(const std::vector<std::string>& words);

}  // namespace autodist::base
