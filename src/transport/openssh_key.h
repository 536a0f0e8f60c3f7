// OpenSSH's own format for private keys, which OpenSSL does not read
// (format: PROTOCOL.key in the OpenSSH source).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "transport/evp_key.h"

namespace autodist::transport {

inline constexpr std::string_view kOpensshBegin = "-----BEGIN OPENSSH PRIVATE KEY-----";

// One such file, perhaps encrypted. Immutable.
class OpensshKey {
 public:
  // `text` is the whole file.
  static Result<OpensshKey> Parse(std::string_view text);

  // Stored in the clear.
  const std::string& public_blob() const { return public_blob_; }
  bool encrypted() const { return cipher_ != "none"; }

  // Fails with kUnauthenticated if the passphrase is wrong, kUnimplemented if the cipher is unknown
  // here, kNotFound if keys of this type are, kInvalidArgument if the file is damaged. Takes a
  // tenth of a second or more for an encrypted key.
  Result<EvpKey> Decrypt(std::string_view passphrase) const;

 private:
  OpensshKey() = default;

  std::string cipher_;
  std::string derivation_;  // how the cipher's key is made from the passphrase
  std::string salt_;
  uint32_t rounds_ = 0;
  std::string public_blob_;
  std::string secret_;
  std::string tag_;  // what authenticates `secret_`, with ciphers that do
};

}  // namespace autodist::transport
