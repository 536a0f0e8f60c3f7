// Summarizes in one line what a rank does, from the processes that its agent describes. Pure logic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "why/rank_processes.h"

namespace autodist::why {

struct StackSummary {
  // The innermost informative frame, which is the caller of the function that waits: "all_reduce
  // (torch/distributed/distributed_c10d.py:2001)". The kernel's state, "sleeping in
  // futex_wait_queue", if frames are missing or only the Python interpreter's own frames wait. "":
  // unknown, because of `missing`.
  std::string doing;
  std::string
      called_by;  // the nearest frame of the user's code: "step (train.py:41)"; "": it is `doing`
  std::string missing;  // why `doing` is the kernel's state, without the node; "": it is a frame
  std::string source = {};  // the tool that has shown frames: "py-spy", "gdb"; "": none

  bool operator==(const StackSummary&) const = default;
};

// `text` is a rank's part of RankStacks (agent/stacks/stacks.h), from an untrusted agent: the
// result is short and contains no terminal control sequences. Of several processes, uses the first
// that does not wait for another. Paths below `folder`, the job's, are shown relative to it.
StackSummary SummaryOf(std::string_view text, const std::string& folder);
StackSummary SummaryOf(const RankProcess& process, const std::string& folder);
// "step (lib/steps.py:41)", as short and sanitized.
std::string FrameText(const StackFrame& frame, const std::string& folder);
// "lib/steps.py:41", as above.
std::string LineText(const StackFrame& frame, const std::string& folder);

}  // namespace autodist::why
