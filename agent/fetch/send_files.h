// Sends the chief files of a folder on this node: the agent's side of AgentService.FetchFiles.
#pragma once

#include "agent/fetch/fetch_call.h"

namespace autodist::agent {

// Blocks until all is sent, or the chief wants no more. What fails on this node is told to the
// chief.
void SendFiles(FetchCall& call, const v1::FetchFilesRequest& request);

}  // namespace autodist::agent
