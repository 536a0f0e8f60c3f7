// Reads and writes the data types of the SSH protocol (RFC 4251, section 5).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace autodist::ssh {

// Reads from a buffer that it does not own; after the first malformed value all reads return empty
// values and ok() is false.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  uint32_t Number() {
    uint32_t value = 0;
    for (const char byte : Bytes(4)) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }

  std::string_view String() { return Bytes(Number()); }

  std::string_view Bytes(size_t count) {
    if (count > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

inline void AppendNumber(std::string& to, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(value >> shift & 0xFF);
}

inline void AppendString(std::string& to, std::string_view value) {
  AppendNumber(to, static_cast<uint32_t>(value.size()));
  to += value;
}

// Appends an mpint: a non-negative number, big-endian, without leading zero bytes except one if the
// first bit would otherwise be set.
inline void AppendBigNumber(std::string& to, std::string_view value) {
  while (!value.empty() && value[0] == '\0') value.remove_prefix(1);
  std::string padded(value);
  if (!value.empty() && (static_cast<unsigned char>(value[0]) & 0x80) != 0) {
    padded.insert(padded.begin(), '\0');
  }
  AppendString(to, padded);
}

}  // namespace autodist::ssh
