// Whether the host key that a server shows is the one that it should have.
#pragma once

#include <string>
#include <string_view>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "ssh/known_hosts.h"

namespace autodist::ssh {

// The host key types that are known for the server, each with a comma after it.
std::string KnownKeyTypes(const v1::SshReach& reach, const KnownHosts& known_hosts);

// As the spec and OpenSSH's configuration have it; a new key may be added to `known_hosts`, which
// writes a file. kUnimplemented: for ssh to decide.
Status CheckHostKey(const v1::SshReach& reach, KnownHosts& known_hosts, std::string_view key);

// Whether there is no key of the server, by our reading of the files.
bool IsUnknownKey(const v1::SshReach& reach, const KnownHosts& known_hosts, std::string_view key);

}  // namespace autodist::ssh
