// The call of a program in which a rank waits for other ranks. Pure logic.
#pragma once

#include <string>

#include "why/rank_processes.h"

namespace autodist::why {

struct Call {
  // Equal for calls that can match, whichever tool shows them: "all-gather", "backward", or "".
  std::string kind;
  std::string name;  // as users know it: "all_gather", "an all-gather", "backward"
  std::string line;  // of the user's code, which called it: "train.py:31"; "": unknown

  bool operator==(const Call&) const = default;
};

// `collective` is the one in which the process waits; "": its frames do not name it. Texts in the
// result are short and sanitized. Lines of files below `folder`, the job's, are relative to it.
Call CallOf(const RankProcess& process, const std::string& collective, const std::string& folder);

// "all_gather (train.py:31)".
std::string CallText(const Call& call);

}  // namespace autodist::why
