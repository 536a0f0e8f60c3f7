// Verifies the host key of a server.
#pragma once

#include <string>
#include <string_view>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "ssh/known_hosts.h"

namespace autodist::ssh {

// Returns the known host key types of the server, each followed by a comma.
std::string KnownKeyTypes(const v1::SshReach& reach, const KnownHosts& known_hosts);

// Checks as the spec and OpenSSH's configuration say; may add a new key to `known_hosts`, which
// writes a file. kUnimplemented: ssh must decide.
Status CheckHostKey(const v1::SshReach& reach, KnownHosts& known_hosts, std::string_view key);

// Whether the files, as autodist reads them, have no key of the server.
bool IsUnknownKey(const v1::SshReach& reach, const KnownHosts& known_hosts, std::string_view key);

}  // namespace autodist::ssh
