// Where this machine listens for TCP connections, as a user says it: "127.0.0.1:9464", "[::1]:0".
#pragma once

#include <cstdint>
#include <string>

#include "autodist/status.h"
#include "base/fd.h"
#include "base/ip_address.h"

namespace autodist::base {

struct ListenAddress {
  IpAddress ip;
  uint16_t port = 0;  // 0: any that is free

  // "127.0.0.1:9464", "[::1]:9464", ":9464", "9464", "127.0.0.1" and "localhost": what is not said
  // is the loopback address, or a port that is free. Never asks a name server.
  static Result<ListenAddress> Parse(const std::string& text);
  std::string ToString() const;
};

struct Listening {
  UniqueFd socket;        // accepts connections; close-on-exec, does not block
  ListenAddress address;  // with the port that it has
};

// Does not block. Fails where somebody else has the port, or this machine not the address.
Result<Listening> Listen(const ListenAddress& address);

struct PortRange {
  uint16_t first = 0;  // 0: any that is free
  uint16_t last = 0;
};
// At the first of them that is free. Likewise.
Result<Listening> ListenWithin(const IpAddress& ip, PortRange ports);

}  // namespace autodist::base
