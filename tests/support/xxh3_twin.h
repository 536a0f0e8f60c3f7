// Constructs a second file of the same size and XXH3 digest (128 bits, no seed) instantly: XXH3
// detects accidental changes, but not malicious ones.
//
// XXH3 reads blocks of 16 stripes of 8 numbers. In a pair of stripes, the numbers can be chosen so
// that their products are 0 and their sums have any value: the last two of the first block
// compensate for changes of the others.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace autodist::test {

namespace xxh3 {

inline constexpr size_t kLanes = 8;
inline constexpr size_t kStripe = 8 * kLanes;  // bytes
inline constexpr size_t kChosen = 14;          // stripes
inline constexpr size_t kBlock = 16 * kStripe;
// Defined by XXH3.
inline constexpr unsigned char kSecret[192] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

inline uint64_t Number(const void* from) {
  uint64_t number = 0;
  std::memcpy(&number, from, sizeof number);
  return number;
}

inline uint64_t Key(size_t stripe, size_t lane) { return Number(kSecret + 8 * (stripe + lane)); }

// Contributions of the stripes up to `end` to each of the sums.
inline std::array<uint64_t, kLanes> Sums(std::string_view text, size_t end) {
  std::array<uint64_t, kLanes> sums{};
  for (size_t stripe = 0; stripe < end; ++stripe) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const uint64_t number = Number(text.data() + stripe * kStripe + 8 * lane);
      const uint64_t keyed = number ^ Key(stripe, lane);
      sums[lane ^ 1] += number;
      sums[lane] += (keyed & 0xFFFFFFFF) * (keyed >> 32);
    }
  }
  return sums;
}

}  // namespace xxh3

// `text`, of more than 2 KiB, with `begin`, of at most 896 bytes, at the beginning.
inline std::string TwinOf(std::string text, std::string_view begin) {
  using namespace xxh3;
  if (text.size() <= 2 * kBlock || begin.size() > kChosen * kStripe) {
    throw std::invalid_argument("no twin of that");
  }
  const auto wanted = Sums(text, kChosen + 2);
  text.replace(0, begin.size(), begin);
  const auto chosen = Sums(text, kChosen);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    // For the sum of the other lane of the pair.
    const uint64_t missing = wanted[lane ^ 1] - chosen[lane ^ 1];
    const uint64_t key = Key(kChosen, lane);
    const uint64_t next_key = Key(kChosen + 1, lane);
    // One number with the low half of the key, one with the high half, so that their products are
    // 0.
    const uint64_t low = (missing - (key & 0xFFFFFFFF)) & 0xFFFFFFFF;
    const uint64_t second = (next_key & 0xFFFFFFFF00000000) | low;
    const uint64_t first = missing - second;
    std::memcpy(text.data() + kChosen * kStripe + 8 * lane, &first, sizeof first);
    std::memcpy(text.data() + (kChosen + 1) * kStripe + 8 * lane, &second, sizeof second);
  }
  return text;
}

}  // namespace autodist::test
