// A user's private key file, in OpenSSH's own format, PEM or PKCS#8.
#pragma once

#include <memory>
#include <string>

#include "autodist/status.h"
#include "ssh/ssh_identity.h"

namespace autodist::ssh {

struct KeyFile {
  std::string path;
  // As it travels on the wire. Of an encrypted PEM file: what the .pub file beside it says; "" if
  // there is none, and only decrypting tells.
  std::string public_blob;
  std::shared_ptr<const SshIdentity> key;  // null: the file is encrypted
};

// Fails if there is no such file (kNotFound), if it cannot be read, or if others can read it too,
// which ssh does not stand either (kPermissionDenied), if it is not a private key
// (kInvalidArgument), or is one that only ssh itself can use, a security key (kUnimplemented).
// All failures name the file, and have a remedy.
Result<KeyFile> ReadKeyFile(const std::string& path);

}  // namespace autodist::ssh
