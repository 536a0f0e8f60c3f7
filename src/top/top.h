// A job on the whole window of a terminal, until one leaves.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "top/view_state.h"

namespace autodist::top {

inline constexpr std::chrono::milliseconds kDefaultInterval{500};

struct TopOptions {
  std::string job_id;
  std::chrono::milliseconds interval = kDefaultInterval;  // at which it looks
  ViewState view{};                                       // at first
  // What ranks are doing, as text of several lines.
  std::function<std::string(const v1::JobStacks&)> stacks_text{};
};

// Blocks until the user leaves, which the job does not notice; gives the signal that ended it, 0
// for none. kFailedPrecondition: this terminal cannot show it, and why. To be called before there
// are other threads, as it takes signals to itself. The terminal is as it was before when it
// returns.
Result<int> ShowTop(const TopOptions& options);

// One picture as plain text, of view.columns, and as many rows as needed. Blocks for a few seconds
// at most.
Result<std::string> TopOnce(const TopOptions& options);

}  // namespace autodist::top
