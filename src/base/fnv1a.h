// A hash that is the same on all machines and in all versions, unlike std::hash. Not for texts by
// which others may want to cause collisions.
#pragma once

#include <cstdint>
#include <string_view>

namespace autodist::base {

// FNV-1a with 64 bits.
constexpr uint64_t Fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace autodist::base
