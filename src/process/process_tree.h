// The processes of this machine and their parents.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace autodist::process {

// Returns every visible process of the machine.
std::vector<pid_t> AllProcesses();

// Returns 0 if the process does not exist.
pid_t ParentOf(pid_t pid);

// When the process started, in milliseconds since 1970; 0 if it does not exist.
int64_t StartOf(pid_t pid);

// Sends the signal if `is_meant` holds. A process that gets the number after this call does not get
// the signal, except before Linux 5.3 and without a free descriptor. Returns whether it was sent.
bool Signal(pid_t pid, int signal, const std::function<bool()>& is_meant);

// Makes orphaned descendants our children instead of init's.
void AdoptOrphans();

// The source of the parent-child relation. Only tests choose it, to cover both.
enum class TreeSource {
  kChildLists,    // the list of children of each process; needs CONFIG_PROC_CHILDREN
  kAllProcesses,  // the parent of each process of the machine
};
TreeSource BestTreeSource();

// Returns the processes below `ancestor`, including zombies. A process that starts or loses its
// parent meanwhile may be missing. If the ancestor has adopted its orphans, it has no descendants
// when it has no child.
std::vector<pid_t> Descendants(pid_t ancestor, TreeSource source = BestTreeSource());

// Whether the process is below `ancestor` now. The number that Descendants returned may have been
// reused.
bool IsDescendant(pid_t pid, pid_t ancestor);

// Sends SIGKILL to all descendants, and repeats until there are no new ones, at most 100 times. A
// process that forks and ends quickly may still escape: call this again while there is a child, and
// reap ended children in between, because they slow down the search.
void KillDescendants(pid_t ancestor, TreeSource source = BestTreeSource());

}  // namespace autodist::process
