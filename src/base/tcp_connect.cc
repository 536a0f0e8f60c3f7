#include "base/tcp_connect.h"

#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "base/socket_address.h"

namespace autodist::base {
namespace {

// A connection fails when the peer has acknowledged nothing for this long.
constexpr std::chrono::milliseconds kUnacknowledgedLimit{15'000};
constexpr std::chrono::milliseconds kNextAddress{250};  // between attempts of a race

}  // namespace

void GiveUpWhenSilent(int fd) {
  const int one = 1;
  const auto limit = static_cast<unsigned>(kUnacknowledgedLimit.count());
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  for (const auto& [option, seconds] :
       {std::pair{TCP_KEEPIDLE, 5}, std::pair{TCP_KEEPINTVL, 5}, std::pair{TCP_KEEPCNT, 2}}) {
    setsockopt(fd, IPPROTO_TCP, option, &seconds, sizeof seconds);
  }
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
}

void ResetOnClose(int fd, bool reset) {
  const linger at_once{reset ? 1 : 0, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

std::variant<UniqueFd, int> StartConnecting(const IpAddress& address, uint16_t port) {
  const int family = address.v6 ? AF_INET6 : AF_INET;
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return errno;
  GiveUpWhenSilent(fd.get());

  if (!address.scope.empty() && if_nametoindex(address.scope.c_str()) == 0) return errno;
  const SocketAddress to(address, port);
  if (connect(fd.get(), to.get(), to.length()) != 0 && errno != EINPROGRESS) return errno;
  return fd;
}

int ConnectResult(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return error;
  sockaddr_storage peer;
  socklen_t peer_length = sizeof peer;
  return getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_length) == 0 ? 0 : EINPROGRESS;
}

std::optional<UniqueFd> ConnectRace::Advance() {
  for (auto attempt = attempts_.begin(); attempt != attempts_.end();) {
    const int error = ConnectResult(attempt->socket.get());
    if (error == 0) return std::move(attempt->socket);
    if (error == EINPROGRESS) {
      ++attempt;
    } else {
      failed_.push_back({attempt->address, error});
      attempt = attempts_.erase(attempt);
    }
  }
  while (begun_ < addresses_.size() && (attempts_.empty() || begin_next_.Expired())) {
    const IpAddress& address = addresses_[begun_++];
    auto connecting = StartConnecting(address, port_);
    if (const int* error = std::get_if<int>(&connecting)) {
      failed_.push_back({address, *error});
      continue;
    }
    attempts_.push_back({address, std::get<UniqueFd>(std::move(connecting))});
    begin_next_ = Deadline::After(kNextAddress);
  }
  return std::nullopt;
}

std::vector<int> ConnectRace::sockets() const {
  std::vector<int> all;
  for (const Attempt& attempt : attempts_) all.push_back(attempt.socket.get());
  return all;
}

}  // namespace autodist::base
