// Under which address the ranks of other nodes reach this one, where whoever launches cannot know:
// they came from outside the cluster, by a jump host or an address that is forwarded to this node.
#pragma once

#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "base/ip_address.h"

namespace autodist::agent {

// Kept for documentation (RFC 5737, RFC 3849): nobody has them, so the default routes lead there.
inline constexpr const char* kElsewhere[] = {"192.0.2.1", "2001:db8::1"};

struct AddressHints {
  std::string interface;              // that the spec names; empty: none
  std::string expected;               // IP address that the chief connects to, where it knows one
  std::string ssh_connection;         // SSH_CONNECTION, of sshd: "client port server port"
  std::vector<std::string> outgoing;  // IP addresses by which this node reaches others, best first
};

// Of those of `interfaces`: the interface's first address; else what is expected, if it is one of
// them; the one that SSH came in by; an outgoing one; any that is not loopback or link-local, IPv4
// first. "127.0.0.1" if there is none of these.
std::string ChooseDataAddress(const AddressHints& hints,
                              const std::vector<base::Interface>& interfaces);

// As it was planned, or where that is left to this node as it finds it. `ssh_connection`: as above.
std::string DataAddressOf(const v1::NodePlan& node, const std::string& ssh_connection);

// The source addresses of this node's default routes, IPv4 first. Sends nothing.
std::vector<std::string> OutgoingAddresses();

}  // namespace autodist::agent
