// Finds out for `autodist init` which of several hosts is this machine, and what devices they have.
#pragma once

#include <vector>

#include "autodist/status.h"
#include "plan/ssh_reach.h"
#include "spec/host_list.h"
#include "spec/spec_draft.h"

namespace autodist::reach {

enum class AskHosts { kNo, kYes };

// Finds out which of the hosts is this machine and under which address the others reach it, and
// asks all of them for their devices, by SSH. Blocks on that for kAskLimit, and on name services.
// What is not found out of a host becomes a warning in the log. Fails where two are this machine.
Result<std::vector<spec::HostFacts>> FactsOf(const std::vector<spec::HostEntry>& hosts,
                                             const spec::SshGroup& login, const plan::User& user,
                                             AskHosts ask);

}  // namespace autodist::reach
