// What a job's snapshot says of its steps, and of why it was started again, for `autodist status`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::cli {

struct JobDetails {
  bool stalled = false;
  std::vector<std::pair<std::string, std::string>> rows;  // name, value
};

// "step 25 of 60, epoch 1/2, 10.1 steps/s", metrics, issues with steps, and the cause of the last
// restart.
JobDetails DetailsOf(const v1::JobSnapshot& snapshot);

// {"since_ms":…,"what":"…"}, or null where it makes steps, or none are known.
std::string StalledJson(const v1::JobSnapshot& snapshot);

}  // namespace autodist::cli
