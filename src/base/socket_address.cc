#include "base/socket_address.h"

#include <net/if.h>
#include <netinet/in.h>

#include <cstring>

namespace autodist::base {

SocketAddress::SocketAddress(const IpAddress& address, uint16_t port) {
  if (address.v6) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    if (!address.scope.empty()) v6.sin6_scope_id = if_nametoindex(address.scope.c_str());
    std::memcpy(&v6.sin6_addr, address.bytes.data(), sizeof v6.sin6_addr);
    std::memcpy(&storage_, &v6, sizeof v6);
    length_ = sizeof v6;
  } else {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, address.bytes.data(), sizeof v4.sin_addr);
    std::memcpy(&storage_, &v4, sizeof v4);
    length_ = sizeof v4;
  }
}

}  // namespace autodist::base
