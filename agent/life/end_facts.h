// Facts that explain how ranks ended, and what they have left.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/v1/session.pb.h"

namespace autodist::agent {

struct LocalMount {
  std::string folder;
  std::string disk;  // its file systems share their room; "": unknown, as of a tmpfs
};

// Returns where file systems of this machine are mounted, from the text of /proc/self/mounts.
// Without those at or below a mount of a file server, where a path may block for ever. Pure logic.
std::vector<LocalMount> LocalMounts(std::string_view table);

// Whether a write to the file system that is mounted at `folder` may have failed for want of room.
// Pure logic.
bool IsNearlyFull(const std::string& folder, uint64_t size, uint64_t free);

// Whether a rank may have ended so because a port was in use: programs then exit with a code, or
// abort for an exception.
bool MayConcernPorts(const v1::RankExited& exit);

// Returns facts about this node that may explain why this rank has failed now. Blocks on /proc; the
// ports need the descriptors of all processes, so they are left out unless they may be the cause.
v1::FailureFacts FailureFactsNow(const v1::RankExited& exit);

// Describes processes that ranks have left; only the first ones.
v1::ProcessesLeft DescribeLeft(v1::LeftStage stage, const std::vector<pid_t>& processes);

}  // namespace autodist::agent
