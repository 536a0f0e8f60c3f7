// The processes of this machine, and who descends from whom.
#pragma once

#include <sys/types.h>

#include <vector>

namespace autodist::process {

// Every process of the machine that we can see.
std::vector<pid_t> AllProcesses();

// 0: there is no such process.
pid_t ParentOf(pid_t pid);

// From now on orphaned descendants become our children instead of init's.
void AdoptOrphans();

// Where the kernel tells who descends from whom. Given in tests only, which try both.
enum class TreeSource {
  kChildLists,    // each process's list of its children; needs CONFIG_PROC_CHILDREN
  kAllProcesses,  // the parent of each process of the machine
};
TreeSource BestTreeSource();

// The processes below `ancestor`, zombies too. One that starts or loses its parent meanwhile may be
// missing: a process that has adopted its orphans knows that none is left when it has no child.
std::vector<pid_t> Descendants(pid_t ancestor, TreeSource source = BestTreeSource());

// Sends SIGKILL to all of them, looking again until it finds none that has not had one, or 100
// times. One that forks and ends quickly may still get away: call it again while there is a child,
// and take the ended ones away in between, for they make looking slow.
void KillDescendants(pid_t ancestor, TreeSource source = BestTreeSource());

}  // namespace autodist::process
