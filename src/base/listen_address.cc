#include "base/listen_address.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "base/parse_number.h"
#include "base/socket_address.h"

namespace autodist::base {
namespace {

constexpr int kMaxWaiting = 1024;
constexpr char kLoopback[] = "127.0.0.1";
constexpr char kWanted[] = "is not ADDRESS:PORT, as in 127.0.0.1:9464 or [::1]:9464";

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
  const auto refusal = [&] {
    return Error(StatusCode::kInvalidArgument, "'" + text + "' " + kWanted);
  };
  std::string host = text;
  std::optional<uint16_t> port = 0;
  const size_t close = text.starts_with('[') ? text.find(']') : text.npos;
  const size_t colon = close != text.npos ? close + 1 : text.find(':');
  if (close == text.npos && (port = ParseNumber<uint16_t>(text))) {
    host = "";
  } else if (port = 0; colon < text.size() && (close != text.npos || colon == text.rfind(':'))) {
    host = text.substr(0, colon);
    port = text[colon] == ':' ? ParseNumber<uint16_t>(std::string_view(text).substr(colon + 1))
                              : std::nullopt;
  }
  if (close != text.npos) host = text.substr(1, close - 1);
  if (host.empty() && close == text.npos) host = kLoopback;
  const auto ip = IpAddress::Parse(host == "localhost" ? kLoopback : host);
  if (!ip || !port || (close != text.npos && !ip->v6)) return refusal();
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
  // Connections of the previous owner of the port may still be closing.
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // Makes an IPv6 socket accept IPv4 connections too, regardless of the machine's default.
  const int off = 0;
  if (address.ip.v6) setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(socket.get(), name.get(), name.length()) != 0 ||
      listen(socket.get(), kMaxWaiting) != 0) {
    const int error = errno;
    Status failure = ErrnoError(error, address.ToString());
    if (error == EADDRINUSE) return WithRemedy(failure, "use another port, or 0 for a free one");
    if (error == EADDRNOTAVAIL) {
      return WithRemedy(failure, "use an address of this machine, or 0.0.0.0 for all");
    }
    return failure;
  }
  AD_ASSIGN_OR_RETURN(const uint16_t port, PortOf(socket.get()));
  return Listening{std::move(socket), {address.ip, port}};
}

Result<Listening> ListenWithin(const IpAddress& ip, PortRange ports) {
  uint16_t port = ports.first;
  for (;;) {
    auto listening = Listen({ip, port});
    if (listening.ok() || port >= ports.last) return listening;
    ++port;
  }
}

}  // namespace autodist::base
