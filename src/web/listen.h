// Listens at a unix socket.
#pragma once

#include <string>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::web {

// Only this user can connect to the path. Removes the socket of a killed server; kAlreadyExists if
// anything else is there.
Result<base::UniqueFd> ListenAtPath(const std::string& path);

}  // namespace autodist::web
