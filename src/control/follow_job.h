// Showing what a job's ranks write until the job has ended.
#pragma once

#include <optional>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "control/log_printer.h"

namespace autodist::control {

// `job` as it was a moment ago. Of what was written before, all is shown, or the last lines of each
// rank. Goes on with the next attempt where the job is restarted. Returns the job as it has ended,
// or as it was when its autodist went. Blocks until then; never delays the job.
Result<v1::JobStatus> FollowJob(v1::JobStatus job, std::optional<size_t> last_lines,
                                LogPrinter& output);

}  // namespace autodist::control
