#include "ssh/ssh_errors.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/quantity.h"
#include "base/split.h"

namespace autodist::ssh {
namespace {

constexpr char kFirewall[] = "is the machine up, the address right, and no firewall in between?";
constexpr char kBusy[] =
    "sshd refuses logins beyond its MaxStartups, and tcp wrappers or fail2ban may refuse this "
    "machine; see the server's log";

Status Make(StatusCode code, const std::string& what, const std::string& remedy) {
  return WithRemedy(Error(code, what), remedy);
}

// The first line, without what a terminal would take as a command.
std::string FirstLine(const std::string& text) {
  constexpr size_t kLongest = 80;
  std::string line = text.substr(0, std::min(text.find_first_of("\r\n"), kLongest));
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < 0x20 || c > 0x7E; }, '?');
  return line;
}

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

Status ConnectError(int errno_value, const std::string& address) {
  const Status cause = ErrnoError(errno_value, "connecting to " + address);
  switch (errno_value) {
    case ECONNREFUSED:
      return WithRemedy(cause, "is sshd running there, and on this port?");
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL:
      return WithRemedy(Annotate(cause, "no route"),
                        "is the machine up and the address right? `ip route get " + address +
                            "` tells which way this machine would take; behind a gateway, name "
                            "it as proxy_jump in the spec");
    case ENODEV:
      return WithRemedy(cause,
                        "what stands behind the % has to be one of this machine's interfaces "
                        "(`ip link`)");
    default:
      return WithRemedy(cause, kFirewall);
  }
}

Status TimeOutError(const std::string& phase, std::chrono::milliseconds limit) {
  return Make(StatusCode::kDeadlineExceeded, phase + " timed out after " + base::Seconds(limit),
              kFirewall);
}

Status NoBannerError(const std::string& text, const std::string& instead) {
  if (text.empty()) {
    return Make(StatusCode::kResourceExhausted,
                "the server closed the connection before it said anything", kBusy);
  }
  if (text.starts_with("Exceeded MaxStartups") || text.starts_with("Not allowed at this time")) {
    return Make(StatusCode::kResourceExhausted,
                "the server is refusing logins for now: '" + FirstLine(text) + "'", kBusy);
  }
  return Make(StatusCode::kFailedPrecondition,
              "not an SSH server: it says '" + FirstLine(text) + "'" + instead,
              "which port does sshd listen on? correct `port` in the spec");
}

Status NoCommonAlgorithmError(const std::string& cause) {
  return Make(StatusCode::kUnimplemented,
              "no common algorithm: the server and we share no way to encrypt (" + cause + ")",
              "allow a key exchange, cipher and host key type that are not older than ten years "
              "in its sshd_config (ecdh-sha2-nistp256, aes128-ctr, ssh-ed25519, ...)");
}

Status HostKeyError(const KnownHosts::Answer& answer, const std::string& host, uint16_t port,
                    std::string_view key) {
  const std::string offered = KnownHosts::Describe(key);
  const std::string line = KnownHosts::Line(host, port, key);
  switch (answer.match) {
    case KnownHosts::Match::kTrusted:
      return OkStatus();
    case KnownHosts::Match::kUnknown:
      return Make(StatusCode::kFailedPrecondition, "host key unknown: the server has " + offered,
                  "if that is its fingerprint (ssh-keygen -l on the machine tells), add to "
                  "~/.ssh/known_hosts:\n" +
                      line +
                      "\nor let `--host-key-check accept-new` do so, in a spec "
                      "`host_key_check: accept-new`");
    case KnownHosts::Match::kChanged:
      return Make(StatusCode::kFailedPrecondition,
                  "host key changed: the server has " + offered + ", which is not the key on " +
                      answer.where,
                  "somebody may be listening in; if the machine was set up anew, replace that "
                  "line by\n" +
                      line);
    case KnownHosts::Match::kRevoked:
      break;
  }
  return Make(StatusCode::kFailedPrecondition,
              "host key revoked by " + answer.where + ": " + offered,
              "give the machine a new host key");
}

Status PinnedHostKeyError(const KnownHosts::Answer& answer, std::string_view key) {
  if (answer.match == KnownHosts::Match::kTrusted) return OkStatus();
  return Make(StatusCode::kFailedPrecondition,
              "host key is none of its 'host_keys' in the spec: the server has " +
                  KnownHosts::Describe(key),
              "somebody may be listening in; if the machine was set up anew, correct host_keys");
}

Status KeyRefusedError(const std::string& username, const std::vector<std::string>& tried,
                       const std::vector<std::string>& notes) {
  std::string what = "key refused: ";
  if (tried.empty()) {
    what += "there is no key to offer";
  } else {
    what += "the server does not accept for user " + username + ":";
    for (const std::string& key : tried) what += "\n  " + key;
  }
  for (const std::string& note : notes) what += "\n  not tried: " + note;
  return Make(StatusCode::kPermissionDenied, what,
              tried.empty()
                  ? "name one as key_file in the spec, or load one into ssh-agent (ssh-add)"
                  : "add the public key to ~/.ssh/authorized_keys of that user on the node, or "
                    "correct username or key_file in the spec");
}

Status LoginInterruptedError(const std::string& cause) {
  return Make(StatusCode::kUnavailable, "the connection was lost while logging in: " + cause,
              "the server's log (journalctl -u ssh) tells why");
}

Status ConnectionLostError(const std::string& cause) {
  return Make(StatusCode::kUnavailable, "connection lost: " + cause,
              "is the machine still up, and can it still be reached from here?");
}

Status HungUpWhileSigningError() {
  return Make(StatusCode::kUnavailable, "the server hung up while ssh-agent was asked to sign",
              "answer the agent sooner; servers wait for LoginGraceTime of their sshd_config");
}

Status ChannelRefusedError(const std::string& cause) {
  return Make(
      StatusCode::kUnavailable,
      "channel refused: the login succeeds, but the server runs no program for it (" + cause + ")",
      "look for MaxSessions, ForceCommand and `no-...` options in sshd_config and "
      "authorized_keys there");
}

Status StalledError(std::chrono::milliseconds limit) {
  return Make(StatusCode::kUnavailable,
              "connection lost: the server has taken nothing of what is sent to it for " +
                  base::Seconds(limit),
              "is the machine, or its sshd, stopped or overloaded?");
}

Status NoProgressError() {
  return Make(StatusCode::kUnavailable,
              "connection lost: it is ready all the time, and nothing goes through it",
              "the server and we misunderstand each other; its log (journalctl -u ssh) may tell");
}

namespace {

// With what the `ssh` program says that whatever stood between it and the server ended: it knows no
// address of the other end then.
constexpr std::string_view kNoPeer = "UNKNOWN port 65535";

// What ssh itself says at the end when a proxy ends without a connection.
bool IsOfProxyEnd(std::string_view line) {
  return line.find(kNoPeer) != std::string_view::npos || line.starts_with("kex_exchange_identif") ||
         line.starts_with("ssh_exchange_identif") || line.starts_with("banner exchange:");
}

// What a proxy said before it ended without a connection; nullopt: there was none, or another
// cause.
std::optional<std::string> SaidByProxy(const std::string& said) {
  // It has not ended where ssh gives it up.
  if (!Has(said, kNoPeer.data()) || Has(said, "timed out during banner exchange")) {
    return std::nullopt;
  }
  std::string words;
  std::vector<std::string_view> lines = base::Lines(said);
  // The last complaints are those of the outer ssh; a jump host's ssh may have the same before it.
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

// That of ssh: others say the first two words, too, of a program that is not executable, say.
bool SaysKeyRefused(const std::string& said) {
  return Has(said, "Permission denied (") || Has(said, "Too many authentication failures");
}

Status ProxyError(const std::string& words, const std::string& host) {
  // `host` names the jump hosts of the spec.
  const bool jump = Has(words, "stdio forwarding failed") || Has(words, "ssh: connect to host") ||
                    Has(host, " through ");
  const std::string what =
      (jump ? "the jump host of " : "the ProxyCommand of ") + host + " ended without a connection";
  if (words.empty()) {
    // The server behind it may have been too busy, which would look the same.
    return Make(StatusCode::kResourceExhausted, what + ", and said nothing",
                "does `ssh -v` get through it? or the server behind it refuses logins beyond its "
                "MaxStartups");
  }
  return Make(StatusCode::kUnavailable, what + ": " + words,
              jump ? "does the jump host reach the node? `ssh -v " + host + "` shows each step"
                   : "make `ssh " + host + "` work: the ProxyCommand in ~/.ssh/config says this");
}

}  // namespace

Status SshProgramError(const std::string& said, const std::string& host) {
  const std::string by = said.empty() ? "ssh ends without a word" : "ssh says:\n" + said;
  if (Has(said, "Could not resolve hostname")) {
    return Make(StatusCode::kNotFound, "name does not resolve: " + by,
                "correct the name in the spec or in proxy_jump, or give the IP address");
  }
  if (Has(said, "no matching key exchange") || Has(said, "no matching cipher") ||
      Has(said, "no matching MAC") || Has(said, "no matching host key") ||
      Has(said, "Unable to negotiate with")) {
    return NoCommonAlgorithmError(by);
  }
  if (Has(said, "IDENTIFICATION HAS CHANGED")) {
    return Make(StatusCode::kFailedPrecondition, "host key changed: " + by,
                "somebody may be listening in; if the machine was set up anew, remove its line");
  }
  if (Has(said, "REVOKED HOST KEY") || Has(said, "is marked as revoked") ||
      Has(said, " revoked by file ")) {
    return Make(StatusCode::kFailedPrecondition, "host key revoked: " + by,
                "give the machine a new host key");
  }
  if (Has(said, "Host key verification failed")) {
    return Make(StatusCode::kFailedPrecondition, "host key unknown: " + by,
                "log in once by hand (ssh shows the fingerprint), or let `host_key_check: "
                "accept-new` in the spec do so");
  }
  if (SaysKeyRefused(said)) {
    return Make(StatusCode::kPermissionDenied, "key refused: " + by,
                "ssh cannot ask for anything here: load the keys of the node and of jump hosts "
                "into ssh-agent (ssh-add), or name unencrypted ones");
  }
  const bool busy = Has(said, "Exceeded MaxStartups") || Has(said, "Not allowed at this time");
  if (const auto words = SaidByProxy(said); words && !busy) {
    // A jump host that is busy itself says so with its address.
    const bool jump_is_busy = Has(*words, "kex_exchange_identification");
    if (!jump_is_busy) return ProxyError(*words, host);
  }
  if (Has(said, "Connection refused")) {
    return Make(StatusCode::kUnavailable, by, "is sshd running there, and on this port?");
  }
  if (Has(said, "No route to host") || Has(said, "unreachable")) {
    return Make(StatusCode::kUnavailable, "no route: " + by,
                "are the machine and its jump hosts up, and the addresses right?");
  }
  if (Has(said, "timed out")) return Make(StatusCode::kDeadlineExceeded, by, kFirewall);
  // What a jump host's ssh had to say came before this.
  if (Has(said, "kex_exchange_identification") || busy) {
    return Make(StatusCode::kResourceExhausted, "the server is refusing logins for now: " + by,
                kBusy);
  }
  return Make(StatusCode::kUnavailable, by, kFirewall);
}

}  // namespace autodist::ssh
