#include "ssh/ssh_errors.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/split.h"

namespace autodist::ssh {
namespace {

namespace cause = transport::cause;
using transport::CauseError;
using transport::CauseIn;
using transport::SaidBy;

// Returns the first line, with terminal control characters escaped.
std::string FirstLine(const std::string& text) {
  constexpr size_t kLongest = 80;
  std::string line = text.substr(0, std::min(text.find_first_of("\r\n"), kLongest));
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < 0x20 || c > 0x7E; }, '?');
  return line;
}

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

const transport::Cause& CauseOfErrno(int errno_value) {
  switch (errno_value) {
    case ECONNREFUSED:
      return cause::kRefused;
    case EHOSTUNREACH:
      return cause::kHostSilent;
    case ENETUNREACH:
    case EADDRNOTAVAIL:
      return cause::kNoRoute;
    case ENODEV:
      return cause::kNoInterface;
    default:
      return cause::kNotConnected;
  }
}

// Returns the error that a banner shows of a login that has failed. Other sentences cannot be the
// cause, but may be part of a text for everyone.
Status SaidInBanner(const std::string& banner) {
  const transport::Cause* said = CauseIn(banner, SaidBy::kServer);
  const bool may_be = said == &cause::kAccountClosed || said == &cause::kNoJobOnNode ||
                      said == &cause::kNoLogins || said == &cause::kMaintenance;
  return may_be ? transport::SaidByServer(banner) : OkStatus();
}

}  // namespace

Status ConnectError(const std::vector<base::ConnectRace::Failed>& failed) {
  std::string said;
  for (const base::ConnectRace::Failed& one : failed) {
    said += (said.empty() ? "" : "; ") +
            Message(ErrnoError(one.error, "connecting to " + one.address.ToString()));
  }
  // A refusal shows that the machine is there.
  const auto refused = std::ranges::find(failed, ECONNREFUSED, &base::ConnectRace::Failed::error);
  const base::ConnectRace::Failed& first = refused == failed.end() ? failed.front() : *refused;
  return CauseError(CauseOfErrno(first.error), {{"{said}", said}});
}

Status NoBannerError(const std::string& text, const std::string& instead) {
  if (text.empty()) return CauseError(cause::kClosedAtOnce);
  const std::string line = FirstLine(text);
  if (CauseIn(line, SaidBy::kSsh) == &cause::kBusy) {
    return CauseError(cause::kBusy, {{"{said}", "'" + line + "'"}});
  }
  return CauseError(cause::kOtherServer, {{"{said}", line}, {"{then}", instead}});
}

Status HostKeyError(const KnownHosts::Answer& answer, const std::string& host, uint16_t port,
                    std::string_view key) {
  const std::string offered = KnownHosts::Describe(key);
  const std::string line = KnownHosts::Line(host, port, key);
  switch (answer.match) {
    case KnownHosts::Match::kTrusted:
      return OkStatus();
    case KnownHosts::Match::kUnknown:
      return CauseError(cause::kUnknownHostKey,
                        {{"{key}", offered},
                         {"{line}", line},
                         {"{file}", answer.where == "/dev/null" ? "a file of UserKnownHostsFile"
                                                                : answer.where}});
    case KnownHosts::Match::kChanged:
      return CauseError(cause::kChangedHostKey,
                        {{"{key}", offered}, {"{where}", answer.where}, {"{line}", line}});
    case KnownHosts::Match::kRevoked:
      break;
  }
  return CauseError(cause::kRevokedHostKey,
                    {{"{where}", " by " + answer.where}, {"{said}", offered}});
}

Status PinnedHostKeyError(const KnownHosts::Answer& answer, std::string_view key) {
  if (answer.match == KnownHosts::Match::kTrusted) return OkStatus();
  return CauseError(cause::kOtherHostKey,
                    {{"{said}", "the server has " + KnownHosts::Describe(key)}});
}

Status KeyRefusedError(const RefusedLogin& login) {
  std::string keys;
  for (const std::string& key : login.tried) keys += "\n  " + key;
  for (const std::string& note : login.notes) keys += "\n  not tried: " + note;
  const Status account = SaidInBanner(login.banner);
  const std::string banner = transport::OneSentence(login.banner);
  if (account.ok() && !banner.empty()) keys += "\n  the server says: " + banner;
  Status refused = CauseError(
      login.tried.empty()          ? cause::kNoKey
      : !login.certificate.empty() ? cause::kWrongCertificate
                                   : cause::kKeyRefused,
      {{"{user}", login.username}, {"{keys}", keys}, {"{certificate}", login.certificate}});
  if (account.ok()) return refused;
  return {account.code(), Message(account) + "\n" + Message(refused), Remedy(account)};
}

Status LoginInterruptedError(const std::string& banner, const std::string& message,
                             const std::string& why) {
  AD_RETURN_IF_ERROR(SaidInBanner(banner));
  AD_RETURN_IF_ERROR(transport::SaidByServer(message));
  const std::string said = transport::OneSentence(message.empty() ? banner : message);
  return said.empty() ? CauseError(cause::kLoginLost, {{"{said}", why}})
                      : CauseError(cause::kLoginEnded, {{"{said}", said}});
}

namespace {

// ssh prints this when the proxy between it and the server has ended: the address of the other end
// is unknown then.
constexpr std::string_view kNoPeer = "UNKNOWN port 65535";

// Whether it is a line of ssh itself after a proxy has ended without a connection.
bool IsOfProxyEnd(std::string_view line) {
  return line.find(kNoPeer) != std::string_view::npos || line.starts_with("kex_exchange_identif") ||
         line.starts_with("ssh_exchange_identif") || line.starts_with("banner exchange:");
}

// Returns the output of a proxy that ended without a connection; nullopt: no proxy, or another
// cause.
std::optional<std::string> SaidByProxy(const std::string& said) {
  // The proxy has not ended if ssh gave up on it.
  if (!Has(said, kNoPeer.data()) || Has(said, "timed out during banner exchange")) {
    return std::nullopt;
  }
  std::string words;
  std::vector<std::string_view> lines = base::Lines(said);
  // The last lines are from the outer ssh; the ssh of a jump host may print the same ones before.
  while (!lines.empty() && IsOfProxyEnd(lines.back())) {
    const bool is_last = lines.back().find(kNoPeer) == std::string_view::npos;
    lines.pop_back();
    if (is_last) break;
  }
  for (const std::string_view line : lines) {
    words += (words.empty() ? "" : "\n") + std::string(line.substr(0, line.find('\r')));
  }
  return words;
}

Status ProxyError(const std::string& words, const std::string& host) {
  const bool jump = Has(host, " through ");  // it names the jump hosts of the spec
  if (words.empty()) {
    return CauseError(cause::kProxySilent, {{"{proxy}", jump ? "jump host" : "ProxyCommand"}});
  }
  const transport::Cause* const shown = CauseIn(words, SaidBy::kJumpHost);
  return CauseError(shown  ? *shown
                    : jump ? cause::kJumpHostLogin
                           : cause::kProxyFails,
                    {{"{said}", transport::WithIndentedLines(words)}});
}

// Returns the text without the lines of ssh about the end, which may follow a banner.
std::string BannerIn(const std::string& said) {
  constexpr const char* kOfSsh[] = {"Connection closed by ", "Connection reset by ",
                                    "Received disconnect from ", "Disconnected from ",
                                    "Permission denied ("};
  std::string banner;
  for (const std::string_view line : base::Lines(said)) {
    const bool of_ssh = std::ranges::any_of(
        kOfSsh, [&](const char* part) { return line.find(part) != std::string_view::npos; });
    if (!of_ssh) banner += std::string(line) + "\n";
  }
  return banner;
}

// Of the server's key: "SHA256:…"; "" if `ssh` does not print it. The rest of what it prints then
// is about known_hosts.
std::string FingerprintIn(std::string_view said) {
  const size_t at = said.find("SHA256:");
  if (at == said.npos) return "";
  std::string fingerprint(said.substr(at, said.find_first_of(" \r\n", at) - at));
  if (fingerprint.ends_with('.')) fingerprint.pop_back();
  return fingerprint;
}

}  // namespace

Status SshProgramError(const std::string& said, const std::string& host, bool pinned) {
  AD_RETURN_IF_ERROR(transport::ConfigurationError(said));
  AD_RETURN_IF_ERROR(SaidInBanner(BannerIn(said)));
  const transport::Cause* found = CauseIn(said, SaidBy::kSsh);
  if (pinned && (found == &cause::kSshChangedHostKey || found == &cause::kSshUnknownHostKey)) {
    found = &cause::kOtherHostKey;
  }
  if (const auto fingerprint = FingerprintIn(said);
      found == &cause::kOtherHostKey && !fingerprint.empty()) {
    return CauseError(*found, {{"{said}", "the server has " + fingerprint}});
  }
  const bool busy = Has(said, "Exceeded MaxStartups") || Has(said, "Not allowed at this time");
  const auto words = busy ? std::nullopt : SaidByProxy(said);
  // A busy jump host reports that itself, with its address.
  if (words && !Has(*words, "kex_exchange_identification")) return ProxyError(*words, host);
  const std::string by = said.empty() ? "ssh ended without a message"
                                      : transport::WithIndentedLines("ssh says:\n" + said);
  return CauseError(found ? *found : cause::kSshFails, {{"{said}", by}, {"{where}", ""}});
}

}  // namespace autodist::ssh
