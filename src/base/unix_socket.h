// What is the same for every unix socket.
#pragma once

#include <sys/un.h>

#include <string>

namespace autodist::base {

// Of a path that is shorter than sun_path; a longer one is cut.
sockaddr_un UnixAddress(const std::string& path);

// Whether the process at the other end of the connection is this user's.
bool PeerIsThisUser(int socket);

}  // namespace autodist::base
