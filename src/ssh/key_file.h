// A user's private key file, in OpenSSH's format, PEM or PKCS#8.
#pragma once

#include <memory>
#include <string>

#include "autodist/status.h"
#include "ssh/ssh_public_key.h"

namespace autodist::ssh {

struct KeyFile {
  std::string path;
  // In wire format. For an encrypted PEM file it comes from the .pub file beside it; "" without
  // one, since only decrypting would reveal it.
  std::string public_blob;
  std::shared_ptr<const SshIdentity> key;  // null: the file is encrypted
};

// Fails if the file does not exist (kNotFound), if it cannot be read or others can read it, which
// ssh does not accept either (kPermissionDenied), if it is not a private key (kInvalidArgument), or
// if only ssh itself can use it, a security key (kUnimplemented). All failures name the file, and
// have a hint.
Result<KeyFile> ReadKeyFile(const std::string& path);

}  // namespace autodist::ssh
