// Unpredictable random numbers and identifiers.
#pragma once

#include <absl/strings/escaping.h>
#include <sys/random.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace autodist::base {

// Uses the kernel: std::random_device executes CPUID each time, which is slow in a virtual machine.
template <size_t size>
std::array<char, size> RandomBytes() {
  static_assert(size <= 256, "more may be interrupted");
  std::array<char, size> bytes;
  if (getrandom(bytes.data(), size, 0) != static_cast<ssize_t>(size)) abort();
  return bytes;
}

inline uint64_t RandomNumber() {
  uint64_t number = 0;
  for (const char byte : RandomBytes<sizeof number>()) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}

// 128 random bits in hexadecimal.
inline std::string RandomHex() {
  const std::array<char, 16> bits = RandomBytes<16>();
  return absl::BytesToHexString({bits.data(), bits.size()});
}

}  // namespace autodist::base
