// The process that outlives an agent: it starts the agent, and ends what is left if the agent is
// killed, or cannot do so because it is stopped or hangs.
#pragma once

#include "agent/life/agent.h"

namespace autodist::agent {

// What the kernel shows as the name of watchdog and agent.
inline constexpr char kWatchdogName[] = "autodist-guard";

// In a process of its own: becomes the watchdog of an agent that it starts. Returns, once nothing
// of the job is left on this node and its folder is gone, the process exit status.
int Guard(AgentOptions options);

// The same away from the terminal, the login and the folder that we were started in.
int GuardApart(AgentOptions options);

}  // namespace autodist::agent
