// A TCP address to listen on, as a user writes it: "127.0.0.1:9464", "[::1]:0".
#pragma once

#include <cstdint>
#include <string>

#include "autodist/status.h"
#include "base/fd.h"
#include "base/ip_address.h"

namespace autodist::base {

struct ListenAddress {
  IpAddress ip;
  uint16_t port = 0;  // 0: any free port

  // Accepts "127.0.0.1:9464", "[::1]:9464", ":9464", "9464", "127.0.0.1" and "localhost". The
  // default address is the loopback address, the default port any free one. Never asks a name
  // server.
  static Result<ListenAddress> Parse(const std::string& text);
  std::string ToString() const;
};

struct Listening {
  UniqueFd socket;        // accepts connections; close-on-exec, does not block
  ListenAddress address;  // with the actual port
};

// Does not block. Fails if the port is in use or the machine does not have the address.
Result<Listening> Listen(const ListenAddress& address);

struct PortRange {
  uint16_t first = 0;  // 0: any free port
  uint16_t last = 0;
};
// Listens on the first free port of the range; otherwise like Listen().
Result<Listening> ListenWithin(const IpAddress& ip, PortRange ports);

}  // namespace autodist::base
