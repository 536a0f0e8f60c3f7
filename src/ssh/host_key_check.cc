#include "ssh/host_key_check.h"

#include "base/log.h"
#include "ssh/ssh_errors.h"
#include "ssh/ssh_wire.h"

namespace autodist::ssh {
namespace {

constexpr size_t kMinRsaBits = 2048;  // see src/plan/ssh_keywords.cc

// OpenSSH may be configured to reject a short key (RequiredRSASize).
Status CheckRsaSize(std::string_view key) {
  WireReader reader(key);
  if (reader.String() != "ssh-rsa") return OkStatus();
  reader.String();  // the exponent
  std::string_view modulus = reader.String();
  while (modulus.starts_with('\0')) modulus.remove_prefix(1);
  if (modulus.size() * 8 >= kMinRsaBits) return OkStatus();
  return Error(StatusCode::kUnimplemented, "the server's RSA host key has " +
                                               std::to_string(modulus.size() * 8) +
                                               " bits, fewer than " + std::to_string(kMinRsaBits));
}

}  // namespace

// Returns the host key types in known_hosts for the server, each followed by a comma.
std::string KnownKeyTypes(const v1::SshReach& reach, const KnownHosts& known_hosts) {
  std::string types;
  for (const std::string& type :
       known_hosts.KeyTypes(reach.host_key_name(), static_cast<uint16_t>(reach.port()))) {
    // A key of type ssh-rsa signs with SHA-2 today.
    types += (type == "ssh-rsa" ? "rsa-sha2-512,rsa-sha2-256" : type) + ",";
  }
  return types;
}

Status CheckHostKey(const v1::SshReach& reach, KnownHosts& known_hosts, std::string_view key) {
  if (key.empty()) return Error(StatusCode::kUnavailable, "the server shows no host key");
  AD_RETURN_IF_ERROR(CheckRsaSize(key));
  const auto answer =
      known_hosts.Check(reach.host_key_name(), static_cast<uint16_t>(reach.port()), key);
  if (reach.host_keys_size() > 0) return PinnedHostKeyError(answer, key);
  const bool revoked = answer.match == KnownHosts::Match::kRevoked;
  if (reach.host_key_check() == v1::HOST_KEY_CHECK_OFF && !revoked) return OkStatus();
  if (reach.host_key_check() == v1::HOST_KEY_CHECK_ACCEPT_NEW &&
      answer.match == KnownHosts::Match::kUnknown) {
    AD_RETURN_IF_ERROR(known_hosts.Add(reach.host_key_name(), static_cast<uint16_t>(reach.port()),
                                       key, reach.hash_known_hosts()));
    base::Log(base::LogLevel::kInfo, reach.host_key_name() + ": host key added to known_hosts: " +
                                         KnownHosts::Describe(key));
    return OkStatus();
  }
  return HostKeyError(answer, reach.host_key_name(), static_cast<uint16_t>(reach.port()), key);
}

// Whether known_hosts, as autodist reads it, has no key of the server.
bool IsUnknownKey(const v1::SshReach& reach, const KnownHosts& known_hosts, std::string_view key) {
  return reach.host_keys_size() == 0 &&
         known_hosts.Check(reach.host_key_name(), static_cast<uint16_t>(reach.port()), key).match ==
             KnownHosts::Match::kUnknown;
}

}  // namespace autodist::ssh
