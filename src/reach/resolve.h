// Resolves hosts and the nodes of a spec to numeric addresses, and finds out which of them is this
// machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "base/ip_address.h"
#include "plan/plan.h"
#include "plan/ssh_keywords.h"
#include "spec/resource_spec.h"

namespace autodist::reach {

struct Location {
  bool here = false;           // whether an address or the name is this machine's
  bool only_loopback = false;  // whether the host as given leads other nodes to themselves
};

// Returns one location for each host; hosts are IP addresses or names. Asks the name service for
// many names in parallel; blocks until it has answered, for half a minute at most.
Result<std::vector<Location>> Locate(const std::vector<std::string>& hosts);

// Returns the name or address that SSH connects to. `openssh`: the configuration.
std::string SshHost(const spec::Node& node, const plan::OpensshValues& openssh);

// Whether another machine answers at this port of this one: the entry of a tunnel, or a port that
// is forwarded to a virtual machine or a container.
bool IsForwarded(const std::string& host, uint32_t port);

// Returns the addresses of a name in the order in which they are tried, each once: IPv4 before
// IPv6, which some frameworks cannot use; loopback addresses, to which many /etc/hosts map the
// machine's own name, only if there are no others.
std::vector<std::string> InOrder(std::vector<base::IpAddress> addresses);

// Returns an address by which other machines reach this one: the first that is neither loopback nor
// link-local, IPv4 before IPv6.
Result<std::string> OutwardAddress();

// Resolves each node of the spec, by its address as the spec writes it. Blocks on the name service
// for host names, for half a minute at most, after which it fails, and on `ssh -G` if OpenSSH's
// configuration has relevant settings. A node that cannot be resolved gets an error, which is
// reported when it is connected to; only the chief must be resolved, because it is this machine.
// kInvalidArgument: ssh cannot read its configuration.
// Nodes without a data address must be asked for it without a chief and, always, if they are
// containers or behind a proxy or a tunnel.
Result<std::map<std::string, plan::NodeAddress>> FindNodes(const spec::ResourceSpec& spec,
                                                           const plan::User& user);

// If no node is marked as the chief: this machine is the chief if it is the only node, and
// otherwise has no ranks. Fails if it is one of several. `input` has its spec, user and addresses.
Status SettleChief(plan::Input& input);

// Fails if the plan's chief has ranks and is another machine.
Status CheckChiefIsHere(const v1::LaunchPlan& plan);

// Returns a TCP port that was free on this machine a moment ago.
Result<uint16_t> FreePort();

}  // namespace autodist::reach
