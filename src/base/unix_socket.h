// Unix domain sockets: listening, connecting, and whose process is at the other end.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <string>

#include "base/fd.h"

namespace autodist::base {

// A path that begins with '@' is a name of the abstract namespace: no file system has it, so that
// nobody can remove it, and every process of the network namespace reaches it. Anybody may take it.

bool FitsUnixAddress(const std::string& path);

// Of a path that fits; a longer one is cut.
sockaddr_un UnixAddress(const std::string& path);
socklen_t UnixAddressSize(const std::string& path);

// Listens at the path, mode 0600, in place of what is there; not in place of an abstract name. The
// descriptor does not block.
Result<UniqueFd> ListenAt(const std::string& path);

// An invalid descriptor where nobody of this user listens at the path. `flags` as socket(2) has
// them.
UniqueFd ConnectToThisUser(const std::string& path, int flags = 0);

// The same; where the backlog is full, waits until the limit. errno is EAGAIN where it passed. The
// descriptor does not block.
UniqueFd ConnectWithin(const std::string& path, std::chrono::milliseconds limit);

// Whether a process listens at the path, however busy it is. Does not block.
bool HasListener(const std::string& path);

// Whether the process at the other end of the connection is this user's.
bool PeerIsThisUser(int socket);

}  // namespace autodist::base
