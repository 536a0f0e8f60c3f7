// The machines that a user's OpenSSH configuration names.
#pragma once

#include <string>

#include "spec/host_list.h"

namespace autodist::spec {

// The names after `Host` (and `Match originalhost`) in `ssh_folder`/config that are no patterns
// themselves and match the shell pattern `pattern`, without any settings: those stay OpenSSH's.
// Include is followed as ssh_config(5) has it; a relative path in it starts in `ssh_folder`, "~/"
// in `home`. A name counts where the blocks around the Include match it, too. Reads files.
HostList SshConfigHosts(const std::string& ssh_folder, const std::string& home,
                        const std::string& pattern);

}  // namespace autodist::spec
