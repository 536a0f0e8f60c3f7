// Asks a host for its devices.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "reach/login_retry_budget.h"
#include "transport/transport.h"

namespace autodist::reach {

inline constexpr std::chrono::seconds kAskLimit{10};  // includes the login

struct Devices {
  uint32_t gpus = 0;  // as the NVIDIA driver lists them
  uint32_t cpus = 0;
  std::string machine = {};  // "HOST-NAME/BOOT-ID", unique to the machine; empty: unknown

  bool operator==(const Devices&) const = default;
};

// Runs one constant command. Blocks for `limit` at most.
Result<Devices> AskDevices(transport::Transport& transport, LoginRetryBudget& servers,
                           std::chrono::milliseconds limit = kAskLimit);

// Finds the command's answer after any output of the login shell; kNotFound while it is incomplete.
Result<Devices> ReadDevices(std::string_view output);

}  // namespace autodist::reach
