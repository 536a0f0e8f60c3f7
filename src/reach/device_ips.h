// Asks hosts for their devices, and nodes for the addresses of NPUs on the NPUs' network if the
// spec does not give them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "plan/plan.h"
#include "reach/gpu_count.h"
#include "reach/login_retry_budget.h"
#include "transport/transport.h"

namespace autodist::reach {

// After the login; nvidia-smi takes half a minute on some machines.
inline constexpr std::chrono::seconds kAskLimit{60};

struct Devices {
  GpuCount counted;  // as the NVIDIA driver lists them
  uint32_t cpus = 0;
  std::string machine = {};  // "HOST-NAME/BOOT-ID", unique to the machine; empty: unknown

  bool operator==(const Devices&) const = default;
};

// Asks a host for its devices, by one constant command. Blocks for the login, and then for `limit`
// at most. kAborted, and kInternal for an invalid answer: the login succeeds.
Result<Devices> AskDevices(transport::Transport& transport, LoginRetryBudget& servers,
                           std::chrono::milliseconds limit = kAskLimit);

// Finds the command's answer after any output of the login shell; kNotFound while it is incomplete.
// `limit`: the time that nvidia-smi had.
Result<Devices> ReadDevices(std::string_view output, std::chrono::seconds limit);

// Asks the nodes of `input` that have gpus without device_ips in the spec, and adds the answers.
// Blocks until all have answered, in parallel, for the login and kAskLimit each at most. If the
// plan has another error, returns it without asking. Reports all nodes that fail, with the reasons.
Status AskForDeviceIps(plan::Input& input);

// Returns one IPv4 address for each device, in order; "" where the node has none. They come from
// `hccn_tool -i DEVICE -ip -g`, or else from address_DEVICE in /etc/hccn.conf. Blocks for the
// login, and then for `limit` at most.
Result<std::vector<std::string>> AskDeviceIps(transport::Transport& transport,
                                              const std::vector<uint32_t>& devices,
                                              LoginRetryBudget& servers,
                                              std::chrono::milliseconds limit);

// Finds the answer for this number of devices after any output of the login shell; kNotFound while
// it is incomplete. Invalid addresses count as missing.
Result<std::vector<std::string>> ReadDeviceIps(std::string_view output, size_t devices);

}  // namespace autodist::reach
