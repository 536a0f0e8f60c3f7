// The life of an agent process: serves its socket until the job has ended on this node.
#pragma once

#include <string>

#include "attach.h"
#include "base/fd.h"

namespace autodist::agent {

inline constexpr char kSocketName[] = "agent.sock";
inline constexpr char kLogName[] = "agent.log";

// What an agent leaves in /tmp; done by the agent itself unless it was killed.
void RemoveAgentFolder(const std::string& folder);

// `listener` is the socket in `folder`. Removes the folder at the end. Returns the process exit
// status.
int Serve(base::UniqueFd listener, const std::string& folder, const AgentIdentity& identity);

}  // namespace autodist::agent
