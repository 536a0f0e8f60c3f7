// The processes that keep a job going on this node, its watchdog and its agent, found as processes.
// A file may be missing where another login cannot see it, or where something has emptied /tmp:
// that proves nothing about a process.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace autodist::agent {

// Whether it has the name of a watchdog or an agent.
bool IsNamedWatchdog(pid_t pid);

// Those of this user that we can see, by job and node: "JOB.NODE_RANK". Those of other hosts whose
// processes we happen to see, of containers say, are left out. Blocks on /proc for milliseconds.
std::multimap<std::string, pid_t> KeepersHere();

// Of this job and node, on whatever host. The name is unique.
std::vector<pid_t> KeepersOf(const std::string& name);

// Blocks until there are none.
void AwaitNoKeepers(const std::string& name);

// What we can see of this machine's processes: since which boot, and in which PID namespace, as a
// plain word. Where it is the same as an agent's, an agent that we do not see has ended. "": we do
// not know.
std::string ProcessScope();

// What a scope that an agent was started in, and our own, tell of an agent that we do not see.
enum class Absence { kUncertain, kEnded, kMachineRestarted };
Absence AbsenceIn(const std::string& scope_of_agent, const std::string& ours);

}  // namespace autodist::agent
