// Where an engine starts autodist on nodes that are not the chief: they call it.
#pragma once

#include <chrono>
#include <string>

#include "autodist/status.h"

namespace autodist::kubernetes {

// This process becomes the agent that calls the chief (agent/life/call) as `node`, with the key of
// that file, for as long as `patience` when nobody is there. `agent_path`: as of
// transfer::NodeProgram; `chief`: a host and a port. Returns only what has kept it from that.
Status BecomeCaller(const std::string& agent_path, const std::string& node,
                    const std::string& chief, const std::string& key_file,
                    std::chrono::seconds patience);

}  // namespace autodist::kubernetes
