// The user's home folder on this node.
#pragma once

#include <string>

namespace autodist::base {

// HOME, or where that is no absolute path the folder that the system knows for this user, which a
// static program cannot ask for; "" if there is none.
std::string HomeFolder();

// Where OpenSSH looks for the user's .ssh, whatever HOME is: the folder that the system knows for
// this user; HOME where it knows none.
std::string SshHomeFolder();

// "~/a" as a path in the home folder; any other path as it is.
std::string ExpandHome(const std::string& path);

}  // namespace autodist::base
