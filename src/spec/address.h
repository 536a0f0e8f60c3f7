// How addresses are written in a spec, and which of them can be a node's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "autodist/status.h"

namespace autodist::spec {

struct HostAndPort {
  std::string host;  // without brackets
  std::optional<uint16_t> port;
};

// Reads "host", "[host]" or "[host]:port"; a host is an IPv4 or IPv6 address or a host name.
Result<HostAndPort> ReadHostAndPort(const std::string& text);

// A Status that says what is wrong with `text` as the name of a user who logs in. Everything that
// becomes such a name passes here: specs, jump hosts, lists of hosts, --user.
Status CheckUser(const std::string& text);

// A Status that tells what is wrong with `text` as a host without port, and what would be right.
Status CheckHost(const std::string& text);

// The same for "[user@]host[:port]", several separated by commas, or "none".
Status CheckProxyJump(const std::string& text);

// What makes two hosts the same one: numeric form, or the host name in lower case.
std::string Identity(const std::string& host);

// Whether the host means another machine on each node.
bool IsLoopback(const std::string& host);

}  // namespace autodist::spec
