// Words that nobody can guess.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <string>

#include "base/hex.h"

namespace autodist::base {

// 128 random bits in hexadecimal.
inline std::string RandomHex() {
  std::random_device random;
  const std::array<uint32_t, 4> bits = {random(), random(), random(), random()};
  return Hex(std::as_bytes(std::span(bits)));
}

}  // namespace autodist::base
