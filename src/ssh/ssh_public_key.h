// Public keys and certificates, in files and as they travel on the wire ("blobs"). The format of
// certificates is described by PROTOCOL.certkeys in the OpenSSH source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::ssh {

// The type that a key or certificate names itself: "ssh-ed25519".
std::string_view KeyType(std::string_view blob);
// Whether the key lives in a FIDO device, which signs when it is touched.
bool IsSecurityKey(std::string_view blob);
bool IsCertificate(std::string_view blob);

struct SshCertificate {
  std::string plain_blob;  // the public key that it certifies
  bool for_users;          // else for hosts
  uint64_t valid_after;    // in seconds since 1970
  uint64_t valid_before;
};
// For certificates of keys that are no security keys.
Result<SshCertificate> ReadCertificate(std::string_view blob);

// The public key that `blob` is, or certifies; "" if it is not one of a type that we use.
std::string PlainKey(const std::string& blob);

// The blob in a line such as "ssh-ed25519 AAAA... comment"; nothing if it is no such line.
std::optional<std::string> ParsePublicKeyLine(std::string_view line);

// The blob in a .pub file.
Result<std::string> ReadPublicKeyFile(const std::string& path);

// The algorithm to sign a login request with (see SshIdentity): the one that it names, or where
// that is one of certificates, the one of the plain key.
Result<std::string> SignatureAlgorithm(std::string_view request);

// The bytes that `text` encodes; white space in it is passed over.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace autodist::ssh
