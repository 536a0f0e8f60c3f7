// What `autodist ps --json` and `status --json` print of a job.
#pragma once

#include <optional>
#include <string>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"

namespace autodist::control {

// One line. What is not known, or not so far, is null: the exit code of a job that runs, say. The
// state is "crashed" where no autodist answers for a job that has not ended.
std::string StatusJson(const v1::JobStatus& job, const std::optional<v1::Progress>& progress = {});

}  // namespace autodist::control
