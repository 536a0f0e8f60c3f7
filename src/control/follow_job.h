// Showing what a job's ranks have written, and what they write until the job has ended.
#pragma once

#include <functional>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "logs/log_printer.h"

namespace autodist::control {

// What is not to be shown of that which was written before, said to the reader.
using Skip = std::function<void(logs::LogReader& logs)>;

// All that there is now, in the order of time, also of lines that have not ended.
void ShowLogs(const v1::JobStatus& job, const Skip& skip, logs::LogPrinter& output);

// `job` as it was a moment ago. Goes on with the next attempt where the job is restarted. Returns
// the job as it has ended, or as it was when its autodist went. kUnavailable: its autodist is
// there, and too busy. Blocks until then; never delays the job.
Result<v1::JobStatus> FollowJob(v1::JobStatus job, const Skip& skip, logs::LogPrinter& output);

}  // namespace autodist::control
