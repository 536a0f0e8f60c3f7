// The key derivation that OpenSSH encrypts private keys with, which OpenSSL does not have: bcrypt
// (Provos and Mazières, "A Future-Adaptable Password Scheme") over SHA-512, in the manner of
// PBKDF2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace autodist::transport {

// `size` bytes, at most kBcryptLargestKey. Slow on purpose: a round of 32 bytes takes some
// milliseconds. Thread-safe.
inline constexpr size_t kBcryptLargestKey = 1024;
std::string BcryptPbkdf(std::string_view password, std::string_view salt, uint32_t rounds,
                        size_t size);

}  // namespace autodist::transport
