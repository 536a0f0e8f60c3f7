// Words that nobody can guess.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace autodist::base {

// 128 random bits in hexadecimal.
inline std::string RandomHex() {
  std::random_device random;
  std::string word;
  for (int i = 0; i < 4; ++i) {
    for (uint32_t bits = random(), digit = 0; digit < 8; ++digit, bits >>= 4) {
      word += "0123456789abcdef"[bits & 15];
    }
  }
  return word;
}

}  // namespace autodist::base
