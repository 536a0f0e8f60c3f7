// A user's private key: read once, then used to sign for any number of logins.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "autodist/status.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace autodist::transport {

// Ed25519, ECDSA (nistp256, 384, 521) or RSA. Immutable; safe to use from several threads.
class SshKey {
 public:
  // Reads a key file in OpenSSH's own format, PEM or PKCS#8. Fails, with a remedy, if the file
  // cannot be read, is no private key, or is encrypted.
  static Result<std::shared_ptr<const SshKey>> Load(const std::string& path);

  // The public key as it travels on the wire.
  const std::string& public_blob() const { return public_blob_; }

  // The signature proper, without the name of the algorithm, over an SSH_MSG_USERAUTH_REQUEST
  // preceded by the session id (RFC 4252, section 7); the algorithm is taken from that message.
  Result<std::string> SignRequest(std::string_view request) const;

 private:
  using EvpKey = std::shared_ptr<evp_pkey_st>;
  SshKey(EvpKey key, std::string public_blob)
      : key_(std::move(key)), public_blob_(std::move(public_blob)) {}

  const EvpKey key_;
  const std::string public_blob_;
};

}  // namespace autodist::transport
