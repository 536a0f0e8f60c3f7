// Lists names in a sentence.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace autodist::base {

// "a", "a and b", "a, b and c", "a, b, c and 7 others": of more than `named` + 1 names, only the
// first `named`, which is at least 1. "" if there are none.
std::string AFewOf(const std::vector<std::string>& names, size_t named = 3);

}  // namespace autodist::base
