// Opens TCP connections without blocking, and sets how they end.
#pragma once

#include <cstdint>
#include <variant>

#include "base/fd.h"
#include "base/ip_address.h"

namespace autodist::base {

// Makes the connection fail if the peer acknowledges nothing for 15 seconds, and disables Nagle's
// algorithm.
void GiveUpWhenSilent(int fd);

// Whether the connection will be reset when its socket is closed, instead of ended regularly.
void ResetOnClose(int fd, bool reset = true);

// Returns a non-blocking socket with a connection attempt in progress; it becomes writable when the
// attempt has ended. Applies GiveUpWhenSilent. Fails with an errno value.
std::variant<UniqueFd, int> StartConnecting(const IpAddress& address, uint16_t port);

// Returns 0, the errno value if the connection failed, or EINPROGRESS.
int ConnectResult(int fd);

}  // namespace autodist::base
