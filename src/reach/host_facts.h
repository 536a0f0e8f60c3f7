// Collects facts about hosts for `autodist init`: which one is this machine, and their devices.
#pragma once

#include <chrono>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "plan/ssh_reach.h"
#include "spec/host_list.h"
#include "spec/spec_draft.h"

namespace autodist::reach {

// kForLaunch: a launch follows, which reports the logins that fail.
enum class AskHosts { kNo, kYes, kForLaunch };
// How to treat several hosts that are one machine. kRefuse: an error if it is this machine, else a
// warning; kMerge: they become one host.
enum class SameMachines { kRefuse, kMerge };

struct AskLimits {
  std::chrono::milliseconds each = plan::kDefaultStartLimit;  // for a login, and for the answer
  // A host that may be booting is asked again for this time, unless its devices were given.
  std::chrono::milliseconds booting{0};
};

// Finds out which of the hosts is this machine and by which address the others reach it, and asks
// all of them for their devices, by SSH. Blocks for the limits, and on name services. Returns one
// element for each of the hosts, which merging may have reduced.
Result<std::vector<spec::HostFacts>> FactsOf(std::vector<spec::HostEntry>& hosts,
                                             const spec::SshGroup& login, const plan::User& user,
                                             AskHosts ask, SameMachines same,
                                             const AskLimits& limits);

// Returns why a login failed when the host was asked for a launch, and forgets it: the launch does
// not wait for the host again. OK: no failure is known. Of the whole process; thread-safe.
Status TakeFailure(const v1::Reach& reach);

}  // namespace autodist::reach
