// Public keys and certificates, in files and in wire format ("blobs"). PROTOCOL.certkeys in the
// OpenSSH source describes the format of certificates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::ssh {

// Returns the type in a key or certificate: "ssh-ed25519".
std::string_view KeyType(std::string_view blob);
// Whether the key is in a FIDO device, which signs when it is touched.
bool IsSecurityKey(std::string_view blob);
bool IsCertificate(std::string_view blob);

struct SshCertificate {
  std::string plain_blob;  // the certified public key
  bool for_users;          // false: for hosts
  uint64_t valid_after;    // in seconds since 1970
  uint64_t valid_before;
};
// Parses a certificate; security keys are not supported.
Result<SshCertificate> ReadCertificate(std::string_view blob);

// Returns `blob` itself, or the key that it certifies; "" if its type is not supported.
std::string PlainKey(const std::string& blob);

// Returns the blob in a line such as "ssh-ed25519 AAAA... comment"; nullopt for other lines.
std::optional<std::string> ParsePublicKeyLine(std::string_view line);

// Returns the blob in a .pub file.
Result<std::string> ReadPublicKeyFile(const std::string& path);

// Returns the algorithm with which to sign a login request (see SshIdentity): the one in the
// request or, for a certificate algorithm, the plain one.
Result<std::string> SignatureAlgorithm(std::string_view request);

// Decodes `text`; ignores white space.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace autodist::ssh
