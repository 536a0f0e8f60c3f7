// What a rank is doing, in a line, made from all that its agent tells of its processes. Pure logic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "why/rank_processes.h"

namespace autodist::why {

struct StackSummary {
  // The innermost frame that tells something, which is who called what waits:
  // "all_reduce (torch/distributed/distributed_c10d.py:2001)"; where there are no frames, or of
  // Python only its interpreter's that wait, what the kernel tells: "sleeping in futex_wait_queue".
  std::string doing;
  std::string
      called_by;        // the nearest frame of the user's own: "step (train.py:41)"; "": `doing` is
  std::string missing;  // why it is the kernel that tells, without the node; "": it is not

  bool operator==(const StackSummary&) const = default;
};

// `text` is what RankStacks has of a rank (agent/stacks/stacks.h), from an agent that may lie: what
// comes out is short, and does nothing to a terminal. Of several processes the first one counts
// that does not wait for another. Files below `folder`, the job's, are named from there on.
StackSummary SummaryOf(std::string_view text, const std::string& folder);
StackSummary SummaryOf(const RankProcess& process, const std::string& folder);
// "step (lib/steps.py:41)", as short and harmless.
std::string FrameText(const StackFrame& frame, const std::string& folder);

}  // namespace autodist::why
