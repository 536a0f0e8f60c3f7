// Sends the chief files of a folder on this node: the agent's side of AgentService.FetchFiles.
#pragma once

#include "agent/fetch/fetch_call.h"

namespace autodist::agent {

// Blocks until everything is sent, or the chief has ended the call. Reports local failures to the
// chief.
void SendFiles(FetchCall& call, const v1::FetchFilesRequest& request);

}  // namespace autodist::agent
