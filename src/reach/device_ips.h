// Asks nodes for the addresses that their NPUs have on their own network, where the spec does not
// give them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "plan/plan.h"
#include "reach/login_retry_budget.h"
#include "transport/transport.h"

namespace autodist::reach {

// Asks the nodes of `input` whose spec has gpus without device_ips, and adds what they say. Blocks
// until all have answered, for kAskLimit each at most, many at the same time. Asks nobody
// where the plan is wrong in anything else, and says what. Says of all that cannot be asked why.
Status AskForDeviceIps(plan::Input& input);

// One IPv4 address for each device, in their order; "" for those of which the node tells none. They
// are what `hccn_tool -i DEVICE -ip -g` says, else address_DEVICE of /etc/hccn.conf. Blocks for
// `limit` at most.
Result<std::vector<std::string>> AskDeviceIps(transport::Transport& transport,
                                              const std::vector<uint32_t>& devices,
                                              LoginRetryBudget& servers,
                                              std::chrono::milliseconds limit);

// Finds the answer for so many devices behind whatever a login shell wrote before it; kNotFound
// while it is not there whole. What is no address is taken for none.
Result<std::vector<std::string>> ReadDeviceIps(std::string_view output, size_t devices);

}  // namespace autodist::reach
