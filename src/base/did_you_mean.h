// "Did you mean": the known word that is closest to a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autodist::base {

// Returns the candidate with the smallest edit distance to `word`, or "" if none is close enough.
// Leading dashes do not count.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

// "a", "a or b", "a, b or c".
std::string Alternatives(const std::vector<std::string>& words);

}  // namespace autodist::base
