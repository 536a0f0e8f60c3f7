// The life of an agent process: serves its socket until the job has ended on this node.
#pragma once

#include <string>

#include "attach.h"
#include "base/fd.h"

namespace autodist::agent {

inline constexpr char kSocketName[] = "agent.sock";

// `listener` is the socket in `folder`. Removes the folder at the end. Returns the process exit
// status.
int Serve(base::UniqueFd listener, const std::string& folder, const AgentIdentity& identity);

}  // namespace autodist::agent
