#include "ssh/ssh_errors.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/quantity.h"
#include "base/split.h"

namespace autodist::ssh {
namespace {

constexpr char kFirewall[] =
    "check that the machine is up, the address is right and no firewall blocks the port";
constexpr char kBusy[] =
    "raise MaxStartups in sshd_config or lower --fan-out; fail2ban or TCP wrappers may also refuse "
    "this machine (see the server's log)";

Status Make(StatusCode code, const std::string& what, const std::string& remedy) {
  return WithRemedy(Error(code, what), remedy);
}

// Returns the first line, with terminal control characters escaped.
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
      return WithRemedy(cause, "start sshd on the node, or correct `port` in the spec");
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL:
      return WithRemedy(Annotate(cause, "no route"),
                        "check the machine and the address; `ip route get " + address +
                            "` shows the route; behind a gateway, set proxy_jump in the spec");
    case ENODEV:
      return WithRemedy(cause,
                        "the name after the % must be one of this machine's interfaces "
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
              "correct `port` in the spec: the port on which sshd listens");
}

Status NoCommonAlgorithmError(const std::string& cause) {
  return Make(
      StatusCode::kUnimplemented,
      "no common algorithm: the server and autodist share no key exchange, cipher or host key type "
      "(" +
          cause + ")",
      "allow ecdh-sha2-nistp256, aes128-ctr and ssh-ed25519, or newer ones, in its sshd_config");
}

Status HostKeyError(const KnownHosts::Answer& answer, const std::string& host, uint16_t port,
                    std::string_view key) {
  const std::string offered = KnownHosts::Describe(key);
  const std::string line = KnownHosts::Line(host, port, key);
  switch (answer.match) {
    case KnownHosts::Match::kTrusted:
      return OkStatus();
    case KnownHosts::Match::kUnknown:
      return Make(
          StatusCode::kFailedPrecondition, "host key unknown: the server has " + offered,
          "if that is its fingerprint (compare with ssh-keygen -l on the machine), add to "
          "~/.ssh/known_hosts:\n" +
              line +
              "\nor give --host-key-check accept-new (in a spec: host_key_check: accept-new)");
    case KnownHosts::Match::kChanged:
      return Make(StatusCode::kFailedPrecondition,
                  "host key changed: the server has " + offered + ", which is not the key on " +
                      answer.where,
                  "this may be an attack; if the machine was reinstalled, replace that "
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
              "host key does not match 'host_keys' in the spec: the server has " +
                  KnownHosts::Describe(key),
              "this may be an attack; if the machine was reinstalled, correct host_keys");
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
                  ? "set key_file in the spec, or load a key with ssh-add"
                  : "add the public key to ~/.ssh/authorized_keys of that user on the node, or "
                    "correct username or key_file in the spec");
}

Status LoginInterruptedError(const std::string& cause) {
  return Make(StatusCode::kUnavailable, "the connection was lost while logging in: " + cause,
              "see the server's log (journalctl -u ssh)");
}

Status ConnectionLostError(const std::string& cause) {
  return Make(StatusCode::kUnavailable, "connection lost: " + cause,
              "check that the machine is up and reachable");
}

Status HungUpWhileSigningError() {
  return Make(StatusCode::kUnavailable,
              "the server closed the connection while ssh-agent was signing",
              "confirm the agent's question sooner; servers wait for LoginGraceTime (sshd_config)");
}

Status ChannelRefusedError(const std::string& cause) {
  return Make(
      StatusCode::kUnavailable,
      "channel refused: the login succeeds, but the server runs no program for it (" + cause + ")",
      "check MaxSessions and ForceCommand in sshd_config, and `no-...` options in authorized_keys");
}

Status StalledError(std::chrono::milliseconds limit) {
  return Make(StatusCode::kUnavailable,
              "connection lost: the server has accepted no data for " + base::Seconds(limit),
              "check whether the machine or its sshd is stopped or overloaded");
}

Status NoProgressError() {
  return Make(StatusCode::kUnavailable, "connection lost: it is always ready, but no data pass",
              "this is a protocol error of the server or autodist; see the server's log "
              "(journalctl -u ssh)");
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

// Matches ssh's message; others begin with the same two words, for example for a program that is
// not executable.
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
    // The server behind it may have been too busy, which looks the same.
    return Make(StatusCode::kResourceExhausted, what + ", and without a message",
                "test it with `ssh -v`, or raise MaxStartups on the server behind it");
  }
  return Make(
      StatusCode::kUnavailable, what + ": " + words,
      jump ? "check that the jump host reaches the node; `ssh -v " + host + "` shows each step"
           : "make `ssh " + host +
                 "` work; the text above is from the ProxyCommand in ~/.ssh/config");
}

}  // namespace

Status SshProgramError(const std::string& said, const std::string& host) {
  const std::string by = said.empty() ? "ssh ended without a message" : "ssh says:\n" + said;
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
                "this may be an attack; if the machine was reinstalled, remove its line");
  }
  if (Has(said, "REVOKED HOST KEY") || Has(said, "is marked as revoked") ||
      Has(said, " revoked by file ")) {
    return Make(StatusCode::kFailedPrecondition, "host key revoked: " + by,
                "give the machine a new host key");
  }
  if (Has(said, "Host key verification failed")) {
    return Make(StatusCode::kFailedPrecondition, "host key unknown: " + by,
                "log in once with ssh and confirm the fingerprint, or set host_key_check: "
                "accept-new in the spec");
  }
  if (SaysKeyRefused(said)) {
    return Make(StatusCode::kPermissionDenied, "key refused: " + by,
                "load the keys of the node and of jump hosts with ssh-add; ssh cannot ask for "
                "passphrases here");
  }
  const bool busy = Has(said, "Exceeded MaxStartups") || Has(said, "Not allowed at this time");
  if (const auto words = SaidByProxy(said); words && !busy) {
    // A busy jump host reports that itself, with its address.
    const bool jump_is_busy = Has(*words, "kex_exchange_identification");
    if (!jump_is_busy) return ProxyError(*words, host);
  }
  if (Has(said, "Connection refused")) {
    return Make(StatusCode::kUnavailable, by,
                "start sshd on the node, or correct `port` in the spec");
  }
  if (Has(said, "No route to host") || Has(said, "unreachable")) {
    return Make(StatusCode::kUnavailable, "no route: " + by,
                "check that the machine and its jump hosts are up and the addresses are right");
  }
  if (Has(said, "timed out")) return Make(StatusCode::kDeadlineExceeded, by, kFirewall);
  // Errors of a jump host's ssh have been handled above.
  if (Has(said, "kex_exchange_identification") || busy) {
    return Make(StatusCode::kResourceExhausted, "the server is refusing logins for now: " + by,
                kBusy);
  }
  return Make(StatusCode::kUnavailable, by, kFirewall);
}

}  // namespace autodist::ssh
