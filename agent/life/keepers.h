// Finds the watchdog and the agent of a job on this node as processes. Files may be missing because
// another login cannot see them, or because /tmp was emptied; that proves nothing about a process.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace autodist::agent {

// Whether it has the process name of watchdogs and agents.
bool IsNamedWatchdog(pid_t pid);

// Returns this user's visible ones by job and node: "JOB.NODE_RANK". Excludes those of other hosts
// whose processes are visible, for example of containers. Blocks on /proc for milliseconds.
std::multimap<std::string, pid_t> KeepersHere();

// Returns those of this job and node, on any host. The name is unique.
std::vector<pid_t> KeepersOf(const std::string& name);

// Blocks until all have ended.
void AwaitNoKeepers(const std::string& name);

// Returns the boot and the PID namespace that determine which processes are visible, as a plain
// word. If it equals that of an agent, an agent that is not visible has ended. "": unknown.
std::string ProcessScope();

// What follows from an agent's scope and our own if the agent is not visible.
enum class Absence { kUncertain, kEnded, kMachineRestarted };
Absence AbsenceIn(const std::string& scope_of_agent, const std::string& ours);

}  // namespace autodist::agent
