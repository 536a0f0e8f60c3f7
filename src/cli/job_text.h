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

// One line per job, with a heading. `now_ms`: since 1970. If `width` is not 0, drops columns, and
// shortens ids and commands, until the lines fit in `width` columns.
std::string JobTable(const std::vector<v1::JobStatus>& jobs, const ProgressOfJobs& progress,
                     int64_t now_ms, size_t width);

// All details of one job.
std::string JobText(const v1::JobStatus& job, int64_t now_ms, const JobDetails& details = {});

// Explains that the job has crashed and how to end its ranks.
std::string CrashedText(const v1::JobStatus& job);

}  // namespace autodist::cli
