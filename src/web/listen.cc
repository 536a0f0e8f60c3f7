#include "web/listen.h"

#include <absl/strings/numbers.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/socket_address.h"
#include "base/unix_socket.h"

namespace autodist::web {
namespace {

constexpr int kBacklog = 64;
constexpr char kLoopback[] = "127.0.0.1";

bool IsPort(const std::string& text, uint16_t& port) {
  uint32_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number > UINT16_MAX) return false;
  port = static_cast<uint16_t>(number);
  return true;
}

Result<uint16_t> PortOf(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) {
    return ErrnoError(errno, "asking for the port");
  }
  return ntohs(storage.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(storage).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(storage).sin_port);
}

}  // namespace

Result<Place> ReadPlace(const std::string& text) {
  Place place;
  std::string host = text;
  const auto wrong = [&] {
    return Error(StatusCode::kInvalidArgument,
                 "'" + text + "' is no ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:8080");
  };
  if (IsPort(text, place.port)) {
    host = "";
  } else if (const size_t end = text.rfind(']'); text.starts_with('[') && end != text.npos) {
    host = text.substr(1, end - 1);
    const std::string rest = text.substr(end + 1);
    if (!rest.empty() && (rest[0] != ':' || !IsPort(rest.substr(1), place.port))) return wrong();
  } else if (std::ranges::count(text, ':') == 1) {
    const size_t colon = text.find(':');
    host = text.substr(0, colon);
    if (!IsPort(text.substr(colon + 1), place.port)) return wrong();
  }
  const auto address =
      base::IpAddress::Parse(host.empty() || host == "localhost" ? kLoopback : host);
  if (!address) return wrong();
  place.address = *address;
  return place;
}

std::string HostAndPort(const Place& place) {
  const std::string address = place.address.ToString();
  return (place.address.v6 ? "[" + address + "]" : address) + ":" + std::to_string(place.port);
}

Result<base::UniqueFd> ListenOn(Place& place) {
  const base::SocketAddress address(place.address, place.port);
  base::UniqueFd fd(socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!fd.valid() || setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(fd.get(), address.get(), address.length()) != 0 || listen(fd.get(), kBacklog) != 0) {
    return ErrnoError(errno, "listening on " + HostAndPort(place));
  }
  AD_ASSIGN_OR_RETURN(place.port, PortOf(fd.get()));
  return fd;
}

Result<base::UniqueFd> ListenAtPath(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) == 0 &&
      (!S_ISSOCK(info.st_mode) || base::ConnectToThisUser(path).valid())) {
    return Error(StatusCode::kAlreadyExists, path + " is there already");
  }
  return base::ListenAt(path);
}

}  // namespace autodist::web
