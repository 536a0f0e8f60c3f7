// Random identifiers that nobody can guess.
#pragma once

#include <absl/strings/escaping.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>

namespace autodist::base {

// 128 random bits in hexadecimal.
inline std::string RandomHex() {
  std::random_device random;
  const std::array<uint32_t, 4> bits = {random(), random(), random(), random()};
  return absl::BytesToHexString({reinterpret_cast<const char*>(bits.data()), sizeof bits});
}

}  // namespace autodist::base
