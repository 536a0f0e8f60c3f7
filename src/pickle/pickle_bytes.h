// Reads the operands of a pickle's operations.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace autodist::pickle {

// Reads sequentially. Not thread-safe.
class PickleBytes {
 public:
  explicit PickleBytes(std::string_view bytes) : left_(bytes) {}

  // Whether a read exceeded the input, or a number was too large.
  bool failed() const { return failed_; }

  std::string_view Take(size_t size) {
    if (left_.size() < size) {
      failed_ = true;
      return "";
    }
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }

  // Reads little-endian bytes.
  uint64_t TakeNumber(size_t size) {
    uint64_t number = 0;
    const std::string_view bytes = Take(size);
    for (size_t i = 0; i < bytes.size(); ++i) {
      number |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    return number;
  }

  // Reads a byte with the length, then that many bytes of a two's complement number.
  int64_t TakeLong() {
    const size_t length = TakeNumber(1);
    if (length > 8) failed_ = true;
    const size_t size = std::min<size_t>(length, 8);
    const uint64_t bits = TakeNumber(size);
    const size_t unused = size == 0 ? 0 : 64 - size * 8;
    return static_cast<int64_t>(bits << unused) >> unused;
  }

  double TakeFloat() {
    uint64_t bits = 0;
    for (const char byte : Take(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
    return std::bit_cast<double>(bits);
  }

  std::string_view TakeText(size_t length_size) { return Take(TakeNumber(length_size)); }

 private:
  std::string_view left_;
  bool failed_ = false;
};

}  // namespace autodist::pickle
