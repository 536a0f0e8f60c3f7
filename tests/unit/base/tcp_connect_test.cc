#include "base/tcp_connect.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/listen_address.h"

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

// A listener on 127.0.0.1; other loopback addresses refuse connections to its port.
class ConnectRaceTest : public testing::Test {
 protected:
  ConnectRaceTest() {
    auto listening = base::Listen(*ListenAddress::Parse("127.0.0.1:0"));
    EXPECT_TRUE(listening.ok()) << listening.status();
    listener_ = std::move(listening->socket);
    port_ = listening->address.port;
  }

  std::optional<UniqueFd> Run(ConnectRace& race) {
    const Deadline limit = Deadline::After(std::chrono::seconds(10));
    while (!limit.Expired()) {
      auto connected = race.Advance();
      if (connected || race.lost()) return connected;
      std::vector<pollfd> waiting;
      for (const int fd : race.sockets()) waiting.push_back({fd, POLLOUT, 0});
      poll(waiting.data(), waiting.size(), std::min(race.next(), limit).PollTimeout());
    }
    return std::nullopt;
  }
  static IpAddress Ip(const char* text) { return *IpAddress::Parse(text); }

  UniqueFd listener_;
  uint16_t port_ = 0;
};

TEST_F(ConnectRaceTest, TheNextAddressIsTriedAfterARefusal) {
  ConnectRace race({Ip("127.0.0.9"), Ip("fe80::1%no-such"), Ip("127.0.0.1")}, port_);
  const auto connected = Run(race);
  ASSERT_TRUE(connected);
  EXPECT_TRUE(connected->valid());
  ASSERT_EQ(race.failed().size(), 2u);
  EXPECT_EQ(race.failed()[0].error, ECONNREFUSED);
  EXPECT_EQ(race.failed()[1].error, ENODEV);
}

TEST_F(ConnectRaceTest, AllAddressesMayFail) {
  ConnectRace race({Ip("127.0.0.9"), Ip("127.0.0.8")}, port_);
  EXPECT_FALSE(Run(race));
  EXPECT_TRUE(race.lost());
  EXPECT_EQ(race.failed().size(), 2u);
}

// A listener with a full backlog does not answer.
TEST_F(ConnectRaceTest, ASilentAddressDelaysTheNextOneOnlyALittle) {
  const UniqueFd silent(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 8);
  address.sin_port = htons(port_);
  ASSERT_EQ(bind(silent.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(silent.get(), 0), 0);
  std::vector<UniqueFd> waiting;
  for (int i = 0; i < 4; ++i) {
    auto connecting = StartConnecting(Ip("127.0.0.9"), port_);
    waiting.push_back(std::get<UniqueFd>(std::move(connecting)));
  }
  ConnectRace race({Ip("127.0.0.9"), Ip("127.0.0.1")}, port_);
  const auto began = Deadline::Clock::now();
  const auto connected = Run(race);
  EXPECT_TRUE(connected);
  EXPECT_LT(Deadline::Clock::now() - began, std::chrono::seconds(5));
}

}  // namespace
}  // namespace autodist::base
