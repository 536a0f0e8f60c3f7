// Selects the network interfaces for connections between ranks.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/facts.pb.h"
#include "autodist/v1/plan.pb.h"
#include "base/ip_address.h"
#include "process/environment.h"

namespace autodist::agent {

struct RankInterface {
  std::string name;     // empty: none found
  std::string warning;  // why none was found
};

// Returns the name of the interface for packets to the address; empty: unknown.
using WayTo = std::function<std::string(const base::IpAddress& target)>;

// Chooses the interface named in the plan, or else the owner of the data address. A loopback
// interface only reaches this node: if routes lead to an address on it, the ranks use the interface
// of these routes, provided that it has an address.
RankInterface ChooseRankInterface(const v1::NodePlan& node, const std::string& data_address,
                                  const std::vector<base::Interface>& interfaces,
                                  const WayTo& way_to);

// Asks the kernel; sends nothing to the network.
std::string InterfaceTowards(const base::IpAddress& target);

uint32_t MtuOf(const std::string& interface);  // 0: unknown

// Returns the interfaces that Gloo and NCCL select by their variables in an environment of ranks.
// Sources: gloo's transport/tcp/device.cc, NCCL's misc/socket.cc.
std::vector<v1::RankNetwork> RankNetworksOf(const process::Environment& environment,
                                            const std::vector<base::Interface>& interfaces);

}  // namespace autodist::agent
