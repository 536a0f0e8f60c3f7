// The newest checkpoint that only this node has.
#pragma once

#include <future>
#include <optional>
#include <string>

#include "autodist/v1/prepare.pb.h"

namespace autodist::agent {

// Absent: the folder is not on a disk of this node, so that other nodes may see the same files, or
// it could not be read completely. Without a name: the folder is missing or has no file.
using LocalCheckpoint = std::optional<v1::CheckpointFact>;

// Whether only this machine has file systems of this type (statfs.f_type). Unknown types are not.
bool IsOnOneMachine(unsigned long type);

// Searches on its own thread, because a file server that hangs would block the caller. The
// result may never be ready, and is not awaited when it is destroyed. `directory`: absolute, for a
// relative folder. Not valid: no thread can be started.
std::future<LocalCheckpoint> SearchLocalCheckpoint(const v1::CheckpointRequest& request,
                                                   const std::string& directory);

}  // namespace autodist::agent
