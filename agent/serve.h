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

struct ServeOptions {
  base::UniqueFd listener;  // the socket in `folder`
  // Ends when the process that started the agent does. If no chief has opened a session by then,
  // none will come.
  base::UniqueFd starter;
  std::string folder;  // removed at the end
  AgentIdentity identity;
};

// Returns the process exit status.
int Serve(const ServeOptions& options);

}  // namespace autodist::agent
