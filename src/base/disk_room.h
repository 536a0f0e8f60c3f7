// Whether a file system has room, as the chief and the agent judge it. Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "base/quantity.h"

namespace autodist::base {

// With fewer bytes, a write may fail for want of room.
inline constexpr uint64_t kNoRoom = uint64_t{16} << 20;

// Whether less than a twentieth is free.
constexpr bool IsNearlyFull(uint64_t size, uint64_t free) {
  constexpr uint64_t kParts = 20;
  return free == 0 || free < size / kParts;
}

// Whether a write may have failed for want of room. A small file system may be empty.
constexpr bool HasNoRoom(uint64_t size, uint64_t free) {
  return IsNearlyFull(size, free) && free < kNoRoom;
}

// "is full", "is nearly full: 2.0 MiB free" or "has little room: 256 KiB free".
inline std::string RoomText(uint64_t size, uint64_t free) {
  if (free == 0) return "is full";
  return (IsNearlyFull(size, free) ? "is nearly full: " : "has little room: ") + BinaryBytes(free) +
         " free";
}

}  // namespace autodist::base
