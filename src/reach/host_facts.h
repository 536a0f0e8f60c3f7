// Collects facts about hosts for `autodist init`: which one is this machine, and their devices.
#pragma once

#include <vector>

#include "autodist/status.h"
#include "plan/ssh_reach.h"
#include "spec/host_list.h"
#include "spec/spec_draft.h"

namespace autodist::reach {

enum class AskHosts { kNo, kYes };
// How to treat several hosts that are one machine. kRefuse: an error if it is this machine, else a
// warning; kMerge: they become one host.
enum class SameMachines { kRefuse, kMerge };

// Finds out which of the hosts is this machine and by which address the others reach it, and asks
// all of them for their devices, by SSH. Blocks for kAskLimit, and on name services. Missing facts
// are logged as warnings. Returns one element for each of the hosts, which merging may have
// reduced.
Result<std::vector<spec::HostFacts>> FactsOf(std::vector<spec::HostEntry>& hosts,
                                             const spec::SshGroup& login, const plan::User& user,
                                             AskHosts ask, SameMachines same);

}  // namespace autodist::reach
