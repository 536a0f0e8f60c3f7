// The process that outlives an agent: it starts the agent, and ends the remaining processes if the
// agent is killed, or cannot do so because it is stopped or hangs.
#pragma once

#include "agent/life/agent.h"

namespace autodist::agent {

// The process name of watchdog and agent.
inline constexpr char kWatchdogName[] = "autodist-guard";

// The main function of a watchdog's process; starts the agent. Returns the process exit status when
// no process of the job is left on this node and its folder is removed.
int Guard(AgentOptions options);

// The same, detached from terminal, login and working directory.
int GuardApart(AgentOptions options);

}  // namespace autodist::agent
