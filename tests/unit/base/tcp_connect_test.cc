#include "base/tcp_connect.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <variant>

namespace autodist::base {
namespace {

// A listening socket on this address, and its port.
std::pair<UniqueFd, uint16_t> Listen(const IpAddress& address) {
  UniqueFd fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 v6{};
  socklen_t length = sizeof v6;
  v6.sin6_family = AF_INET6;
  v6.sin6_scope_id = if_nametoindex(address.scope.c_str());
  std::memcpy(&v6.sin6_addr, address.bytes.data(), sizeof v6.sin6_addr);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&v6), length) != 0 ||
      listen(fd.get(), 1) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&v6), &length) != 0) {
    return {UniqueFd(), 0};
  }
  return {std::move(fd), ntohs(v6.sin6_port)};
}

TEST(TcpConnectTest, ALinkLocalAddressIsReachedByItsInterface) {
  const auto interfaces = LocalInterfaces();
  ASSERT_TRUE(interfaces.ok());
  const auto found =
      std::find_if(interfaces->begin(), interfaces->end(),
                   [](const Interface& interface) { return interface.address.IsLinkLocal(); });
  if (found == interfaces->end()) GTEST_SKIP() << "no link-local address here";
  IpAddress address = found->address;
  address.scope = found->name;
  const auto [listener, port] = Listen(address);
  ASSERT_NE(port, 0);
  const auto fd = StartConnecting(address, port);
  ASSERT_TRUE(std::holds_alternative<UniqueFd>(fd));
  const UniqueFd accepted(accept(listener.get(), nullptr, nullptr));
  EXPECT_TRUE(accepted.valid());
  EXPECT_EQ(ConnectResult(std::get<UniqueFd>(fd).get()), 0);
}

TEST(TcpConnectTest, AMissingInterfaceIsENODEV) {
  const auto fd = StartConnecting(*IpAddress::Parse("fe80::1%no-such"), 22);
  ASSERT_TRUE(std::holds_alternative<int>(fd));
  EXPECT_EQ(std::get<int>(fd), ENODEV);
}

}  // namespace
}  // namespace autodist::base
