// A user's private key in memory: read once, then used to sign for any number of logins. libssh2
// would read it again for each login on the thread that all logins share, which costs 0.5 ms, and
// 10 ms for an RSA key of 4096 bits.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "ssh/ssh_identity.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace autodist::ssh {

// Ed25519, ECDSA (nistp256, 384, 521) or RSA. Immutable and thread-safe.
class PrivateKey final : public SshIdentity {
 public:
  // Parses an unencrypted file in PEM or PKCS#8. `path` is for messages.
  static Result<std::shared_ptr<const PrivateKey>> FromPem(const std::string& text,
                                                           const std::string& path);
  // Parses the decrypted private section of a file in OpenSSH's format.
  static Result<std::shared_ptr<const PrivateKey>> FromOpenssh(std::string_view secret,
                                                               std::string_view public_blob,
                                                               const std::string& path);

  const std::string& public_blob() const override { return public_blob_; }
  const std::string& description() const override { return path_; }
  bool slow() const override { return false; }
  Result<std::string> SignRequest(std::string_view request,
                                  const std::stop_token& stop) const override;

 private:
  using Key = std::shared_ptr<evp_pkey_st>;
  friend Result<std::shared_ptr<const PrivateKey>> MakePrivateKey(const Key& key,
                                                                  const std::string& path);
  PrivateKey(Key key, std::string public_blob, std::string path)
      : key_(std::move(key)), public_blob_(std::move(public_blob)), path_(std::move(path)) {}

  const Key key_;
  const std::string public_blob_;
  const std::string path_;
};

}  // namespace autodist::ssh
