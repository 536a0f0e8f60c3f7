// Bytes in hexadecimal.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace autodist::base {

inline std::string Hex(std::span<const std::byte> bytes) {
  std::string hex;
  for (const std::byte byte : bytes) {
    hex += "0123456789abcdef"[std::to_integer<int>(byte >> 4)];
    hex += "0123456789abcdef"[std::to_integer<int>(byte & std::byte{15})];
  }
  return hex;
}

}  // namespace autodist::base
