// "1 rank", "2 ranks"; "200 MB".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace autodist::base {

inline std::string Count(size_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

// Two or three digits of it, in decimal units.
std::string Bytes(uint64_t number);

}  // namespace autodist::base
