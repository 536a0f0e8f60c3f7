#include "base/unix_socket.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace autodist::base {

using namespace std::chrono_literals;

namespace {

bool IsAbstract(const std::string& path) { return path.starts_with('@'); }

// Whether the path fits.
bool IsWhole(const sockaddr_un& address, const std::string& path) {
  return IsAbstract(path) ? FitsUnixAddress(path) : address.sun_path == path;
}

}  // namespace

bool FitsUnixAddress(const std::string& path) { return path.size() < sizeof sockaddr_un::sun_path; }

sockaddr_un UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (IsAbstract(path)) address.sun_path[0] = '\0';
  return address;
}

socklen_t UnixAddressSize(const std::string& path) {
  // All bytes of an abstract name are significant, so the length must be exact.
  const size_t size =
      IsAbstract(path) ? offsetof(sockaddr_un, sun_path) + path.size() : sizeof(sockaddr_un);
  return static_cast<socklen_t>(size);
}

Result<UniqueFd> ListenAt(const std::string& path) {
  constexpr int kBacklog = 64;
  if (!FitsUnixAddress(path)) {
    return ErrnoError(ENAMETOOLONG, "listening at " + path);
  }
  if (!IsAbstract(path)) unlink(path.c_str());
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = UnixAddress(path);
  // Sets the mode with fchmod, because the umask applies to other threads too. No process can
  // connect before listen.
  if (!fd.valid() ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), UnixAddressSize(path)) != 0 ||
      (!IsAbstract(path) && chmod(path.c_str(), 0600) != 0) || listen(fd.get(), kBacklog) != 0) {
    return ErrnoError(errno, "listening at " + path);
  }
  return fd;
}

UniqueFd ConnectToThisUser(const std::string& path, int flags) {
  const sockaddr_un address = UnixAddress(path);
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!IsWhole(address, path) || !fd.valid() ||
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), UnixAddressSize(path)) != 0 ||
      !PeerIsThisUser(fd.get())) {
    return {};
  }
  return fd;
}

UniqueFd ConnectWithin(const std::string& path, std::chrono::milliseconds limit) {
  const sockaddr_un address = UnixAddress(path);
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!IsWhole(address, path) || !fd.valid()) return {};
  // Limits connect(2) by the send timeout: poll(2) does not report when the backlog has room.
  const timeval time{.tv_sec = limit / 1s, .tv_usec = limit % 1s / 1us};
  const timeval none{};
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), UnixAddressSize(path)) != 0 ||
      !PeerIsThisUser(fd.get()) || !SetNonBlocking(fd.get()).ok()) {
    return {};
  }
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
  return fd;
}

bool HasListener(const std::string& path) {
  const sockaddr_un address = UnixAddress(path);
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return IsWhole(address, path) && fd.valid() &&
         (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), UnixAddressSize(path)) ==
              0 ||
          errno == EAGAIN);
}

bool PeerIsThisUser(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

}  // namespace autodist::base
