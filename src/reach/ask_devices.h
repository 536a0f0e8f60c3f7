// Asks a host which devices it has.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "reach/login_retry_budget.h"
#include "transport/transport.h"

namespace autodist::reach {

inline constexpr std::chrono::seconds kAskLimit{10};  // login and all

struct Devices {
  uint32_t gpus = 0;  // that the NVIDIA driver lists
  uint32_t cpus = 0;
  std::string machine = {};  // "HOST-NAME/BOOT-ID", which no two machines have; empty: not known

  bool operator==(const Devices&) const = default;
};

// By one constant command. Blocks for `limit` at most.
Result<Devices> AskDevices(transport::Transport& transport, LoginRetryBudget& servers,
                           std::chrono::milliseconds limit = kAskLimit);

// Finds the command's answer behind whatever a login shell wrote before it; kNotFound while it is
// not there whole.
Result<Devices> ReadDevices(std::string_view output);

}  // namespace autodist::reach
