// Jobs as text, for `autodist ps` and `autodist status`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "cli/job_progress.h"

namespace autodist::cli {

// "running", "exit 0", "crashed".
std::string StateText(const v1::JobStatus& job);

// One line each, with a heading. `now_ms`: since 1970. Where `width` is not 0, fewer columns, short
// ids and cut commands, as far as lines of so many columns need that.
std::string JobTable(const std::vector<v1::JobStatus>& jobs, const ProgressOfJobs& progress,
                     int64_t now_ms, size_t width);

// All that is known of one job.
std::string JobText(const v1::JobStatus& job, int64_t now_ms, const JobDetails& details = {});

// What can be done about a job whose autodist is gone.
std::string CrashedText(const v1::JobStatus& job);

}  // namespace autodist::cli
