// Determines the address by which the ranks of other nodes reach this one, if the chief cannot know
// it: the chief may connect from outside the cluster, through a jump host or a forwarded address.
#pragma once

#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "base/ip_address.h"

namespace autodist::agent {

// Documentation addresses (RFC 5737, RFC 3849), which are unused, so the default routes apply.
inline constexpr const char* kElsewhere[] = {"192.0.2.1", "2001:db8::1"};

struct AddressHints {
  std::string interface;              // named in the spec; may be empty
  std::string expected;               // IP address to which the chief connects, if known
  std::string ssh_connection;         // SSH_CONNECTION of sshd: "client port server port"
  std::vector<std::string> outgoing;  // source addresses for other nodes, best first
};

// Chooses an address of `interfaces`: the first of the named interface; else the expected one; the
// one of the SSH connection; an outgoing one; any that is not loopback or link-local, IPv4 first;
// "127.0.0.1".
std::string ChooseDataAddress(const AddressHints& hints,
                              const std::vector<base::Interface>& interfaces);

// Returns the planned address or, if the plan leaves it open, the chosen one. `ssh_connection`: as
// above.
std::string DataAddressOf(const v1::NodePlan& node, const std::string& ssh_connection);

// Returns the source addresses of this node's default routes, IPv4 first. Sends nothing.
std::vector<std::string> OutgoingAddresses();

}  // namespace autodist::agent
