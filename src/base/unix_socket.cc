#include "base/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace autodist::base {

bool FitsUnixAddress(const std::string& path) { return path.size() < sizeof sockaddr_un::sun_path; }

sockaddr_un UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

Result<UniqueFd> ListenAt(const std::string& path) {
  constexpr int kBacklog = 64;
  if (!FitsUnixAddress(path)) {
    return ErrnoError(ENAMETOOLONG, "listening at " + path);
  }
  unlink(path.c_str());
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = UnixAddress(path);
  // Not by the umask, which is other threads' too. Nobody can connect before listen.
  if (!fd.valid() ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path.c_str(), 0600) != 0 || listen(fd.get(), kBacklog) != 0) {
    return ErrnoError(errno, "listening at " + path);
  }
  return fd;
}

UniqueFd ConnectToThisUser(const std::string& path, int flags) {
  const sockaddr_un address = UnixAddress(path);
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (address.sun_path != path || !fd.valid() ||
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      !PeerIsThisUser(fd.get())) {
    return {};
  }
  return fd;
}

bool PeerIsThisUser(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

}  // namespace autodist::base
