// Through which network interfaces ranks reach those of other nodes.
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
  std::string name;     // empty: none fits
  std::string warning;  // then: why
};

// The name of the interface by which packets to the address leave; empty: not known.
using WayTo = std::function<std::string(const base::IpAddress& target)>;

// The one that the plan names, or else the owner of the data address. A loopback interface reaches
// the node itself alone: where routes lead to an address on it, the ranks use the interface by
// which these routes leave, if it has an address of its own.
RankInterface ChooseRankInterface(const v1::NodePlan& node, const std::string& data_address,
                                  const std::vector<base::Interface>& interfaces,
                                  const WayTo& way_to);

// Asks the kernel; sends nothing to the network.
std::string InterfaceTowards(const base::IpAddress& target);

uint32_t MtuOf(const std::string& interface);  // 0: not known

// What Gloo and NCCL make of their variables in an environment of ranks. Sources: gloo's
// transport/tcp/device.cc, NCCL's misc/socket.cc.
std::vector<v1::RankNetwork> RankNetworksOf(const process::Environment& environment,
                                            const std::vector<base::Interface>& interfaces);

}  // namespace autodist::agent
