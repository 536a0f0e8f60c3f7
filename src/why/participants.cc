#include "why/participants.h"

#include <algorithm>
#include <cstdint>

#include "why/collectives.h"

namespace autodist::why {
namespace {

// A zombie, or what Python's multiprocessing has started for itself.
bool TakesNoPart(const RankProcess& process) {
  return process.state.starts_with("zombie") ||
         process.command.find("multiprocessing.resource_tracker") != std::string::npos ||
         process.command.find("multiprocessing.forkserver") != std::string::npos;
}

bool InCollective(const RankProcess& process) {
  return !CollectiveOf(process.stack()).empty() || AwaitsSomeCollective(process.stack());
}

std::vector<const RankProcess*> ChildrenOf(const RankProcess& parent,
                                           const std::vector<RankProcess>& processes) {
  std::vector<const RankProcess*> children;
  for (const RankProcess& process : processes) {
    const bool is_child = parent.pid != 0 && process.parent == parent.pid && &process != &parent;
    if (is_child && !TakesNoPart(process)) children.push_back(&process);
  }
  return children;
}

// Without frames of Python's, what it has started shows it.
bool IsLauncher(const RankProcess& process, const std::vector<const RankProcess*>& children) {
  return process.AwaitsAnother() ||
         (!InCollective(process) &&
          std::ranges::any_of(children, [](const RankProcess* one) { return InCollective(*one); }));
}

}  // namespace

std::vector<const RankProcess*> Participants(const std::vector<RankProcess>& processes) {
  if (processes.empty()) return {};
  std::vector<const RankProcess*> found;
  std::vector<const RankProcess*> looked_at = {&processes.front()};
  for (size_t i = 0; i < looked_at.size() && i < processes.size(); ++i) {
    const std::vector<const RankProcess*> children = ChildrenOf(*looked_at[i], processes);
    if (IsLauncher(*looked_at[i], children)) {
      looked_at.insert(looked_at.end(), children.begin(), children.end());
    } else {
      found.push_back(looked_at[i]);
    }
  }
  if (found.empty()) found.push_back(AtWork(processes));
  return found;
}

bool DescendsFrom(const RankProcess& process, const RankProcess& ancestor,
                  const std::vector<RankProcess>& processes) {
  const RankProcess* one = &process;
  for (size_t steps = 0; steps <= processes.size(); ++steps) {
    if (one == &ancestor) return true;
    const uint64_t parent = one->parent;
    const auto found = std::ranges::find(processes, parent, &RankProcess::pid);
    if (parent == 0 || found == processes.end()) return false;
    one = &*found;
  }
  return false;
}

}  // namespace autodist::why
