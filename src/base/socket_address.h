// Converts a numeric address and a port for the socket calls.
#pragma once

#include <sys/socket.h>

#include <cstdint>

#include "base/ip_address.h"

namespace autodist::base {

class SocketAddress {
 public:
  SocketAddress(const IpAddress& address, uint16_t port);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length() const { return length_; }

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

}  // namespace autodist::base
