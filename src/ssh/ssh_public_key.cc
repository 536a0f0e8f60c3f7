#include "ssh/ssh_public_key.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <ctime>

#include "base/fd.h"
#include "base/split.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "ssh/ssh_wire.h"

namespace autodist::ssh {
namespace {

constexpr size_t kLargestPublicKeyFile = 1 << 16;
// The suffix of certificate algorithms after the name of the plain one.
constexpr std::string_view kCertificateSuffix = "-cert-v01@openssh.com";

// Returns the number of values of such a public key after the type; 0: unsupported type.
int CountFields(std::string_view type) {
  if (type == "ssh-ed25519") return 1;
  for (const char* known :
       {"ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"}) {
    if (type == known) return 2;
  }
  return 0;
}

uint64_t LongNumber(WireReader& reader) {
  const uint64_t high = reader.Number();
  return high << 32 | reader.Number();
}

std::vector<std::string> StringsIn(std::string_view list) {
  std::vector<std::string> strings;
  for (WireReader reader(list); !reader.at_end();) strings.emplace_back(reader.String());
  return strings;
}

std::string Date(uint64_t seconds) {
  return base::LocalTime("%Y-%m-%d %H:%M", static_cast<std::time_t>(seconds));
}

}  // namespace

std::string_view KeyType(std::string_view blob) { return WireReader(blob).String(); }

bool IsSecurityKey(std::string_view blob) { return KeyType(blob).starts_with("sk-"); }

bool IsCertificate(std::string_view blob) { return KeyType(blob).ends_with(kCertificateSuffix); }

Result<SshCertificate> ReadCertificate(std::string_view blob) {
  constexpr uint32_t kUserCertificate = 1;
  WireReader reader(blob);
  std::string_view type = reader.String();
  if (!type.ends_with(kCertificateSuffix)) {
    return Error(StatusCode::kInvalidArgument, "not a certificate");
  }
  type.remove_suffix(kCertificateSuffix.size());
  const int fields = CountFields(type);
  if (fields == 0) {
    return Error(StatusCode::kInvalidArgument,
                 "certificates of keys of type '" + std::string(type) + "' are not supported");
  }
  SshCertificate certificate;
  AppendString(certificate.plain_blob, type);
  reader.String();  // nonce
  for (int i = 0; i < fields; ++i) AppendString(certificate.plain_blob, reader.String());
  LongNumber(reader);  // serial number
  certificate.for_users = reader.Number() == kUserCertificate;
  reader.String();  // key id
  certificate.users = StringsIn(reader.String());
  certificate.valid_after = LongNumber(reader);
  certificate.valid_before = LongNumber(reader);
  if (!reader.ok()) return Error(StatusCode::kInvalidArgument, "damaged certificate");
  return certificate;
}

std::string CertificateFault(const SshCertificate& certificate, const std::string& user,
                             uint64_t now) {
  constexpr size_t kMaxNamed = 100;  // bytes
  if (certificate.valid_before <= now) return "has expired on " + Date(certificate.valid_before);
  if (certificate.valid_after > now) return "is not valid before " + Date(certificate.valid_after);
  if (std::ranges::find(certificate.users, user) != certificate.users.end()) return "";
  const std::string users = base::Printable(absl::StrJoin(certificate.users, ", "));
  return "is for " + (users.empty() ? "no user" : base::ToUtf8(users, kMaxNamed)) + ", not for " +
         user;
}

std::string PlainKey(const std::string& blob) {
  if (!IsCertificate(blob)) return CountFields(KeyType(blob)) > 0 ? blob : "";
  const auto certificate = ReadCertificate(blob);
  return certificate.ok() ? certificate->plain_blob : "";
}

std::optional<std::string> ParsePublicKeyLine(std::string_view line) {
  constexpr std::string_view kBlank = " \t";
  const size_t type_end = line.find_first_of(kBlank);
  if (type_end == std::string_view::npos) return std::nullopt;
  const std::string_view type = line.substr(0, type_end);
  line.remove_prefix(std::min(line.find_first_not_of(kBlank, type_end), line.size()));
  auto blob = DecodeBase64(line.substr(0, line.find_first_of(kBlank)));
  if (!blob || type.empty() || KeyType(*blob) != type) return std::nullopt;
  return blob;
}

Result<std::string> ReadPublicKeyFile(const std::string& path) {
  AD_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path, kLargestPublicKeyFile));
  for (std::string_view line : base::Split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (auto blob = ParsePublicKeyLine(line)) return *std::move(blob);
  }
  return Error(StatusCode::kInvalidArgument, path + ": not a public key of SSH's");
}

Result<std::string> SignatureAlgorithm(std::string_view request) {
  WireReader reader(request);
  reader.String();  // session id
  reader.Bytes(1);  // SSH_MSG_USERAUTH_REQUEST
  reader.String();  // user
  reader.String();  // service
  reader.String();  // "publickey"
  reader.Bytes(1);  // TRUE: signed
  std::string_view algorithm = reader.String();
  if (!reader.ok()) return Error(StatusCode::kInternal, "malformed signing request");
  if (algorithm.ends_with(kCertificateSuffix)) algorithm.remove_suffix(kCertificateSuffix.size());
  return std::string(algorithm);
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string bytes;
  if (text.empty() || !absl::Base64Unescape({text.data(), text.size()}, &bytes))
    return std::nullopt;
  return bytes;
}

}  // namespace autodist::ssh
