// Opens TCP connections without blocking.
#pragma once

#include <cstdint>
#include <variant>

#include "base/fd.h"
#include "base/ip_address.h"

namespace autodist::base {

// Has a TCP connection break whose peer acknowledges nothing for 15 seconds, and sends without
// waiting for more.
void GiveUpWhenSilent(int fd);

// A non-blocking socket whose connection is under way: writable once it has been made or has
// failed. GiveUpWhenSilent holds for it. Fails with an errno value.
std::variant<UniqueFd, int> StartConnecting(const IpAddress& address, uint16_t port);

// 0, or the errno value if the connection failed; EINPROGRESS if it is still under way.
int ConnectResult(int fd);

}  // namespace autodist::base
