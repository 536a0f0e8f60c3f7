// The unix socket of a running job: chooses its path, listens on it, and connects to it. Only the
// job's user can reach it.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::control {

// Whether `text` is a valid job id, which may be part of a path: letters, digits and '-'.
bool IsJobId(std::string_view text);

// Chooses the path of a new job's socket: in $XDG_RUNTIME_DIR/autodist if that is a private folder
// of this user, else in /tmp/autodist-jobs-UID, which is created if needed, or in the home folder
// if that one is a link or other users can enter it.
Result<std::string> PlaceForSocket(const std::string& job_id);

// Listens at `path`, mode 0600. kAlreadyExists if another process does. Removes sockets that killed
// autodists left in that folder.
Result<base::UniqueFd> ListenAt(const std::string& path);

// Connects to the job's socket in any of the possible folders. kNotFound: no process listens.
// kDeadlineExceeded: the job's autodist does not accept. Blocks for two seconds at most.
Result<base::UniqueFd> ConnectTo(const std::string& job_id);

// The jobs that have a socket, including abandoned ones.
std::set<std::string> JobsWithSocket();

}  // namespace autodist::control
