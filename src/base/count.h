// "1 rank", "2 ranks".
#pragma once

#include <cstddef>
#include <string>

namespace autodist::base {

inline std::string Count(size_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

}  // namespace autodist::base
