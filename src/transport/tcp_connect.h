// Opens TCP connections without blocking.
#pragma once

#include <cstdint>
#include <variant>

#include "base/fd.h"
#include "base/ip_address.h"

namespace autodist::transport {

// A non-blocking socket whose connection is under way: writable once it has been made or has
// failed. A peer that acknowledges nothing for 15 seconds is given up. Fails with an errno value.
std::variant<base::UniqueFd, int> StartConnecting(const base::IpAddress& address, uint16_t port);

// 0, or the errno value if the connection failed; EINPROGRESS if it is still under way.
int ConnectResult(int fd);

}  // namespace autodist::transport
