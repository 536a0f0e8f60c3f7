// Unix domain sockets: listening, connecting, and the identity of the peer.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <string>

#include "base/fd.h"

namespace autodist::base {

// A path that begins with '@' is a name in the abstract namespace. It is in no file system, so it
// cannot be removed, and every process of the network namespace can connect to it or claim it.

bool FitsUnixAddress(const std::string& path);

// The path must fit; a longer one is cut.
sockaddr_un UnixAddress(const std::string& path);
socklen_t UnixAddressSize(const std::string& path);

// Listens at the path with mode 0600 and replaces an existing file, but not an abstract name. The
// descriptor does not block.
Result<UniqueFd> ListenAt(const std::string& path);

// Returns an invalid descriptor if no process of this user listens at the path. `flags`: see
// socket(2).
UniqueFd ConnectToThisUser(const std::string& path, int flags = 0);

// The same, but waits up to the limit while the backlog is full. errno is EAGAIN after the limit.
// The descriptor does not block.
UniqueFd ConnectWithin(const std::string& path, std::chrono::milliseconds limit);

// Whether a process listens at the path, even a busy one. Does not block.
bool HasListener(const std::string& path);

// Whether the process at the other end of the connection belongs to this user.
bool PeerIsThisUser(int socket);

}  // namespace autodist::base
