// Shows the output of a job's ranks, past and, until the job ends, new.
#pragma once

#include <functional>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "logs/log_printer.h"

namespace autodist::control {

// Announces to the reader which earlier output is not shown.
using Skip = std::function<void(logs::LogReader& logs)>;

// Shows the output so far in order of time, including incomplete lines.
void ShowLogs(const v1::JobStatus& job, const Skip& skip, logs::LogPrinter& output);

// `job` is a recent status. Follows restarts to the next attempt. Blocks until the job ends, and
// returns its last status, or until its autodist goes away. kDeadlineExceeded: its autodist does
// not answer at the beginning. Never delays the job. When the reader of stdout has gone, ends this
// process as by SIGPIPE, also if the job writes nothing.
Result<v1::JobStatus> FollowJob(v1::JobStatus job, const Skip& skip, logs::LogPrinter& output);

}  // namespace autodist::control
