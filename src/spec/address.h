// The syntax of addresses in a spec, and the check that they are valid for a node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "autodist/status.h"

namespace autodist::spec {

// The advice for a password, which is never shown.
inline constexpr char kNoPassword[] =
    "a password cannot be given, because autodist logs in with keys; `ssh-copy-id` installs one";

struct HostAndPort {
  std::string host;  // without brackets
  std::optional<uint16_t> port;
};

// Parses "host", "[host]" or "[host]:port"; a host is an IPv4 or IPv6 address or a host name.
Result<HostAndPort> ReadHostAndPort(const std::string& text);

// Checks `text` as the name of a user who logs in. All such names pass here: those of specs, jump
// hosts, lists of hosts and --user.
Status CheckUser(const std::string& text);

// Checks `text` as a host without port; the error says what is valid.
Status CheckHost(const std::string& text);

// The same for "[user@]host[:port]", several separated by commas, or "none".
Status CheckProxyJump(const std::string& text);

// Returns a key that is equal for the same host: the numeric form, or the name in lower case.
std::string Identity(const std::string& host);

// Whether the host is a loopback address, which means another machine on each node.
bool IsLoopback(const std::string& host);

}  // namespace autodist::spec
