// Shows a job in a full-screen terminal until the user leaves.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"
#include "top/view_model.h"

namespace autodist::top {

inline constexpr std::chrono::milliseconds kDefaultInterval{500};

struct TopOptions {
  std::string job_id;
  std::chrono::milliseconds interval = kDefaultInterval;  // between updates
  ViewState view{};                                       // the initial view
  // Formats what ranks are doing as several lines.
  std::function<std::string(const v1::JobStacks&)> stacks_text{};
  // Formats a diagnosis as several lines.
  std::function<std::string(const v1::JobDiagnosis&)> why_text{};
};

// Blocks until the user leaves; does not affect the job. Returns the signal that ended it, or 0.
// kFailedPrecondition: the terminal is not suitable; says why. Call it before other threads start,
// because it handles signals. Restores the terminal before it returns.
Result<int> ShowTop(const TopOptions& options);

// Draws once as plain text of view.columns and as many rows as needed. Blocks for a few seconds at
// most.
Result<std::string> TopOnce(const TopOptions& options);

}  // namespace autodist::top
