// Where hosts and the nodes of a spec are: their numeric addresses, and which of them is this
// machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "plan/plan.h"
#include "spec/resource_spec.h"

namespace autodist::reach {

struct Location {
  bool here = false;           // one of its addresses is this machine's, or its name is
  bool only_loopback = false;  // no other node reaches this machine under the host as given
};

// One location for each host; hosts are IP addresses or names. Asks the name service for many
// names at the same time; blocks until it has answered, for half a minute at most.
Result<std::vector<Location>> Locate(const std::vector<std::string>& hosts);

// An address under which other machines reach this one: the first that is neither loopback nor
// link-local, IPv4 before IPv6.
Result<std::string> OutwardAddress();

// Finds out where each node of the spec is, by its address as the spec writes it. Blocks on the
// name service for host names, for half a minute at most, after which it fails, and on `ssh -G`
// where OpenSSH's configuration has something to say. A node that cannot be found has an issue,
// which is told when it is to be reached; only the chief, which has to be here, must be found.
// Where there is no chief, nodes without a data address are to be asked for it, and containers
// always are.
Result<std::map<std::string, plan::NodeAddress>> FindNodes(const spec::ResourceSpec& spec,
                                                           const plan::User& user);

// Where no node is marked as the chief: this machine is the chief if it is the only node, and else
// takes no part. Fails where it is one of several. `input` has its spec, user and addresses.
Status SettleChief(plan::Input& input);

// Fails unless the chief's address is one of this machine's.
Status CheckChiefIsHere(const std::string& chief_address, const std::string& chief_ip);

// A TCP port that was free on this machine a moment ago.
Result<uint16_t> FreePort();

}  // namespace autodist::reach
