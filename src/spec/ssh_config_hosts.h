// The machines that a user's OpenSSH configuration names.
#pragma once

#include <string>

#include "spec/host_list.h"

namespace autodist::spec {

// Returns the names after `Host` (and `Match originalhost`) in `ssh_folder`/config that are not
// patterns and match the shell pattern `pattern`, without their settings, which ssh reads itself.
// Follows Include as ssh_config(5) does; a relative path is relative to `ssh_folder`, "~/" to
// `home`. A name counts only if the blocks around the Include match it too. Reads files.
HostList SshConfigHosts(const std::string& ssh_folder, const std::string& home,
                        const std::string& pattern);

}  // namespace autodist::spec
