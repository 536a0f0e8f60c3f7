// Jobs as text, for `autodist ps` and `autodist status`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "cli/steps_text.h"

namespace autodist::cli {

// "running", "ended 0", "crashed".
std::string StateText(const v1::JobStatus& job);

// One line each, with a heading. `now_ms`: since 1970.
std::string JobTable(const std::vector<v1::JobStatus>& jobs, int64_t now_ms);

// All that is known of one job.
std::string JobText(const v1::JobStatus& job, int64_t now_ms, const JobDetails& details = {});

// What can be done about a job whose autodist is gone.
std::string CrashedText(const v1::JobStatus& job);

}  // namespace autodist::cli
