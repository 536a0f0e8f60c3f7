// Asks hosts which devices they have.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "transport/transport.h"

namespace autodist::reach {

inline constexpr std::chrono::seconds kAskLimit{10};  // per host, login and all

struct Devices {
  uint32_t gpus = 0;  // that the NVIDIA driver lists
  uint32_t cpus = 0;

  bool operator==(const Devices&) const = default;
};

// The way to one of the hosts, by its number. Called from several threads.
using TransportTo = std::function<Result<std::unique_ptr<transport::Transport>>(size_t host)>;

// One answer for each of the numbers below `hosts`, gotten by one constant command on each, on many
// at the same time. Blocks for up to `limit` for each batch of them.
std::vector<Result<Devices>> AskDevices(size_t hosts, const TransportTo& transport_to,
                                        std::chrono::milliseconds limit = kAskLimit);

// Finds the command's answer behind whatever a login shell wrote before it; kNotFound while it is
// not there whole.
Result<Devices> ReadDevices(std::string_view output);

}  // namespace autodist::reach
