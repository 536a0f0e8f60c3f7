// Where a server listens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "autodist/status.h"
#include "base/fd.h"
#include "base/ip_address.h"

namespace autodist::web {

struct Place {
  base::IpAddress address;
  uint16_t port = 0;  // 0: one that is free
};

// "127.0.0.1:8080", "[::1]:8080", ":8080", "8080" and "127.0.0.1"; what is not said is the loopback
// address and a free port.
Result<Place> ReadPlace(const std::string& text);

// As part of an address of HTTP: "127.0.0.1:8080".
std::string HostAndPort(const Place& place);

// `place` learns its port.
Result<base::UniqueFd> ListenOn(Place& place);

// At a path that only this user can connect to. What a killed server has left there is removed;
// kAlreadyExists for anything else.
Result<base::UniqueFd> ListenAtPath(const std::string& path);

}  // namespace autodist::web
