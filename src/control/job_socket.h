// The unix socket on which a running autodist can be asked about its job: where it is, listening
// on it, and connecting to it. Only the job's user can reach it.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::control {

// Whether `text` may be the name of a job, and so part of a path: letters, digits and '-'.
bool IsJobId(std::string_view text);

// Where a new job's socket belongs: in $XDG_RUNTIME_DIR/autodist where that variable names a
// private folder of this user, else in /tmp/autodist-jobs-UID, which is made where it is missing;
// in the home folder where that is a link or somebody else could enter it.
Result<std::string> PlaceForSocket(const std::string& job_id);

// Listens at `path`, mode 0600. kAlreadyExists where somebody else does; what killed autodists have
// left in that folder is removed.
Result<base::UniqueFd> ListenAt(const std::string& path);

// Connects to the job's socket, wherever a session of this user may have put it. kNotFound:
// nobody listens. kUnavailable: the job's autodist is too busy to take a connection. Blocks for two
// seconds at most.
Result<base::UniqueFd> ConnectTo(const std::string& job_id);

// The jobs that have a socket, listened to or left behind.
std::set<std::string> JobsWithSocket();

}  // namespace autodist::control
