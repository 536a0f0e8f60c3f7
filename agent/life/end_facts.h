// Facts that explain how ranks ended, and what they have left.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "autodist/v1/session.pb.h"

namespace autodist::agent {

// Returns where file systems of this machine are mounted that are full, in a table of mounts. Does
// not ask file servers, and so does not block on them.
std::vector<std::string> FullFileSystems(const std::string& mounts = "/proc/self/mounts");

// Returns facts about this node that may explain why a rank has failed now. Blocks on /proc.
v1::FailureFacts FailureFactsNow();

// Describes processes that ranks have left; only the first ones.
v1::ProcessesLeft DescribeLeft(v1::LeftStage stage, const std::vector<pid_t>& processes);

}  // namespace autodist::agent
