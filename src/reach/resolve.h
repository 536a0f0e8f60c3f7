// The numeric addresses of a spec's nodes, and this machine's place among them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "base/ip_address.h"
#include "plan/ssh_reach.h"
#include "spec/resource_spec.h"

namespace autodist::reach {

// All addresses of a host name, or the one that `host` is. Blocks on the name service.
Result<std::vector<base::IpAddress>> LookUp(const std::string& host);

// The one of them to use: IPv4 before IPv6, which some frameworks cannot use; loopback last, as
// many a /etc/hosts gives such an address to the machine's own name.
base::IpAddress BestOf(const std::vector<base::IpAddress>& addresses);

// Finds out where each node of the spec is, by its address as the spec writes it. Blocks on the
// name service for host names, and on `ssh -G` where OpenSSH's configuration has something to say.
// A node that cannot be found has a problem, which is told when it is to be reached; only the
// chief, which has to be here, must be found.
Result<std::map<std::string, plan::NodeAddress>> FindNodes(const spec::ResourceSpec& spec,
                                                           const plan::User& user);

// Fails unless the chief's address is one of this machine's.
Status CheckChiefIsHere(const std::string& chief_address, const std::string& chief_ip);

// A TCP port that was free on this machine a moment ago.
Result<uint16_t> FreePort();

}  // namespace autodist::reach
