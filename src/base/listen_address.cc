#include "base/listen_address.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/socket_address.h"

namespace autodist::base {
namespace {

constexpr int kBacklog = 16;
constexpr char kWanted[] = "is not ADDRESS:PORT, as in 127.0.0.1:9464 or [::1]:9464";

std::optional<uint16_t> ParsePort(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

Result<uint16_t> PortOf(int socket) {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&name), &length) != 0) {
    return ErrnoError(errno, "getsockname");
  }
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(name).sin6_port
                                          : reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

}  // namespace

Result<ListenAddress> ListenAddress::Parse(const std::string& text) {
  const size_t colon = text.rfind(':');
  const auto refusal = [&] {
    return Error(StatusCode::kInvalidArgument, "'" + text + "' " + kWanted);
  };
  if (colon == text.npos) return refusal();
  std::string address = text.substr(0, colon);
  const bool bracketed = address.size() > 2 && address.front() == '[' && address.back() == ']';
  if (bracketed) address = address.substr(1, address.size() - 2);
  const auto ip = IpAddress::Parse(address);
  const auto port = ParsePort(std::string_view(text).substr(colon + 1));
  // Without brackets nobody can tell the port from the address's end.
  const bool colons = address.find(':') != address.npos;
  if (!ip || !port || colons != bracketed) return refusal();
  return ListenAddress{*ip, *port};
}

std::string ListenAddress::ToString() const {
  const std::string address = ip.ToString();
  return (ip.v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

Result<Listening> Listen(const ListenAddress& address) {
  const SocketAddress name(address.ip, address.port);
  UniqueFd socket(
      ::socket(address.ip.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return ErrnoError(errno, "socket");
  // Connections of one that had the port before may still be closing.
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(socket.get(), name.get(), name.length()) != 0 || listen(socket.get(), kBacklog) != 0) {
    const int error = errno;
    Status failure = ErrnoError(error, address.ToString());
    if (error == EADDRINUSE) return WithRemedy(failure, "another port, or 0 for one that is free");
    if (error == EADDRNOTAVAIL) {
      return WithRemedy(failure, "an address of this machine, or 0.0.0.0 for all that it has");
    }
    return failure;
  }
  AD_ASSIGN_OR_RETURN(const uint16_t port, PortOf(socket.get()));
  return Listening{std::move(socket), {address.ip, port}};
}

}  // namespace autodist::base
