// A user's private key file, in OpenSSH's own format, PEM or PKCS#8.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "transport/evp_key.h"

namespace autodist::transport {

// Gives the passphrase of a key file, or nothing if there is nobody to ask or no answer. `attempt`
// counts from 1.
using AskPassphrase =
    std::function<std::optional<std::string>(const std::string& key_file, int attempt)>;

// One such file as read, perhaps encrypted. Immutable. All failures name the file, and have a
// remedy.
class KeyFile {
 public:
  // Fails if there is no such file (kNotFound), if it cannot be read, or if others can read it too,
  // which ssh does not stand either (kPermissionDenied), if it is not a private key
  // (kInvalidArgument), or is one that only ssh itself can use, a security key (kUnimplemented).
  static Result<KeyFile> Read(const std::string& path);

  const std::string& path() const { return path_; }
  bool encrypted() const { return encrypted_; }
  // As it travels on the wire. Of an encrypted PEM file: what the .pub file beside it says; "" if
  // there is none, and only decrypting tells.
  const std::string& public_blob() const { return public_blob_; }

  // The key; asks for the passphrase, up to three times, if it is encrypted. Fails with
  // kFailedPrecondition if none is given, with kUnauthenticated if it is wrong, with kUnimplemented
  // if only ssh itself can decrypt it.
  Result<EvpKey> Unlock(const AskPassphrase& ask) const;

 private:
  KeyFile() = default;
  Result<EvpKey> Decrypt(std::string_view passphrase) const;

  std::string path_;
  std::string text_;
  bool openssh_format_ = false;
  bool encrypted_ = false;
  std::string public_blob_;
};

}  // namespace autodist::transport
