// Finds out for `autodist init` which of several hosts is this machine, and what devices they have.
#pragma once

#include <vector>

#include "autodist/status.h"
#include "plan/ssh_reach.h"
#include "spec/host_list.h"
#include "spec/spec_draft.h"

namespace autodist::reach {

enum class AskHosts { kNo, kYes };
// What to do with several hosts that are one machine: two that are this one are an error, others
// are warned of; or they become one host.
enum class SameMachines { kRefuse, kMerge };

// Finds out which of the hosts is this machine and under which address the others reach it, and
// asks all of them for their devices, by SSH. Blocks on that for kAskLimit, and on name services.
// What is not found out of a host becomes a warning in the log. There is one answer for each of the
// hosts, which may be fewer afterwards.
Result<std::vector<spec::HostFacts>> FactsOf(std::vector<spec::HostEntry>& hosts,
                                             const spec::SshGroup& login, const plan::User& user,
                                             AskHosts ask, SameMachines same);

}  // namespace autodist::reach
