// The user who runs autodist, and the files of theirs that it reads.
#pragma once

#include <string>
#include <vector>

namespace autodist::cli {

// "" for a user without an account entry.
std::string UserName();

std::string HomeFolder();

// OpenSSH's, in its order; not all need exist.
std::vector<std::string> KnownHostsFiles();

}  // namespace autodist::cli
