// Jobs as text, for `autodist ps` and `autodist status`.
#pragma once

#include <string>
#include <vector>

#include "autodist/v1/job.pb.h"

namespace autodist::cli {

// "running", "ended 0", "crashed".
std::string StateText(const v1::JobStatus& job);

// One line each, with a heading.
std::string JobTable(const std::vector<v1::JobStatus>& jobs);

// All that is known of one job.
std::string JobText(const v1::JobStatus& job);

// What can be done about a job whose autodist is gone.
std::string CrashedText(const v1::JobStatus& job);

}  // namespace autodist::cli
