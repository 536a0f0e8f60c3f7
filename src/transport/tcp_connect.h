// TCP connections that are begun here and finished elsewhere.
#pragma once

#include <cstdint>

#include "autodist/status.h"
#include "base/fd.h"
#include "base/ip_address.h"

namespace autodist::transport {

// A non-blocking socket whose connection is under way: writable once it has been made or has
// failed. A peer that acknowledges nothing for 15 seconds is given up.
Result<base::UniqueFd> StartConnecting(const base::IpAddress& address, uint16_t port);

// kUnavailable and the like if the connection failed; `pending` if it is still under way.
Status ConnectResult(int fd, bool& pending);

}  // namespace autodist::transport
