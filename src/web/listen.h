// A server at a unix socket.
#pragma once

#include <string>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::web {

// At a path that only this user can connect to. What a killed server has left there is removed;
// kAlreadyExists for anything else.
Result<base::UniqueFd> ListenAtPath(const std::string& path);

}  // namespace autodist::web
