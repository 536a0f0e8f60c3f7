// Which processes of a rank take part in the job. Pure logic.
#pragma once

#include <vector>

#include "why/rank_processes.h"

namespace autodist::why {

// The rank itself, or what it has started where it is a shell or another launcher, which only waits
// for that: torch.multiprocessing.spawn, say. Never empty where `processes` is not.
std::vector<const RankProcess*> Participants(const std::vector<RankProcess>& processes);

// `process` descends from `ancestor`, or is it.
bool DescendsFrom(const RankProcess& process, const RankProcess& ancestor,
                  const std::vector<RankProcess>& processes);

}  // namespace autodist::why
