// Public keys and certificates, in files and in wire format ("blobs"). PROTOCOL.certkeys in the
// OpenSSH source describes the format of certificates.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"

namespace autodist::ssh {

// Returns the type in a key or certificate: "ssh-ed25519".
std::string_view KeyType(std::string_view blob);
// Whether the key is in a FIDO device, which signs when it is touched.
bool IsSecurityKey(std::string_view blob);
bool IsCertificate(std::string_view blob);

struct SshCertificate {
  std::string plain_blob;          // the certified public key
  bool for_users;                  // false: for hosts
  std::vector<std::string> users;  // that may log in with it
  uint64_t valid_after;            // in seconds since 1970
  uint64_t valid_before;
};
// Parses a certificate; security keys are not supported.
Result<SshCertificate> ReadCertificate(std::string_view blob);

// Returns why a server rejects the certificate for the user at this time, in seconds since 1970:
// "has expired on 2026-11-20 08:00", "is not valid before ...", "is for ann, bob, not for root"; or
// "". A server may use other names for users.
std::string CertificateFault(const SshCertificate& certificate, const std::string& user,
                             uint64_t now);

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

// A public-key credential for logins: a key in a file, a key in ssh-agent, or a certificate with
// either. Thread-safe.
class SshIdentity {
 public:
  SshIdentity() = default;
  SshIdentity(const SshIdentity&) = delete;
  SshIdentity& operator=(const SshIdentity&) = delete;
  virtual ~SshIdentity() = default;

  // Returns the public key or certificate that is offered to the server, in wire format.
  virtual const std::string& public_blob() const = 0;

  // For messages: "/home/u/.ssh/id_rsa", "/home/u/.ssh/id_rsa in ssh-agent", "certificate ...".
  virtual const std::string& description() const = 0;

  // Whether signing may block: it uses another process, which may ask the user.
  virtual bool slow() const = 0;

  // Returns the raw signature, without the algorithm name, over an SSH_MSG_USERAUTH_REQUEST
  // preceded by the session id (RFC 4252, section 7). The algorithm is the one in that message;
  // kUnimplemented if the key can only sign with others. `stop` makes it return early.
  virtual Result<std::string> SignRequest(std::string_view request,
                                          const std::stop_token& stop) const = 0;
};

}  // namespace autodist::ssh
