// What the samples of nodes, GPUs and ranks say of what is wrong. Pure logic.
#pragma once

#include <optional>
#include <vector>

#include "autodist/v1/board.pb.h"

namespace autodist::why {

// A rank that has failed, or is lost; else a node that is away.
std::optional<v1::Trouble> FailureCause(const v1::Board& board);

// Something of which there is too little.
struct ResourceCause {
  enum class Of { kDisk, kMemory, kGpu, kQuota, kCpu, kNetwork };
  Of of;
  v1::Trouble trouble;
};

// A full disk, want of memory, a GPU, CPU or network that is slow or broken, the worst first. What
// may be so for a moment has to be so in both; `before` may be null. Adds to `ruled_out`, where
// there is none, what has been looked at and is well.
std::vector<ResourceCause> ResourceCauses(const v1::Board& now, const v1::Board* before,
                                          v1::Trouble& ruled_out);

}  // namespace autodist::why
