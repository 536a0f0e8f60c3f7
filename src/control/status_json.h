// The JSON of a job in `autodist ps --json` and `status --json`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"

namespace autodist::control {

// One line. Unknown values are null, such as the exit code of a running job. The state is "crashed"
// if no autodist answers for a job that has not ended. `more` are further fields and their JSON.
std::string StatusJson(const v1::JobStatus& job, const std::optional<v1::Progress>& progress,
                       const std::vector<std::pair<std::string_view, std::string>>& more = {});

// A list of the ranks of the job's last attempt, without processes that serve ranks. The state of a
// rank is null if its chief crashed before the rank ended.
std::string RanksJson(const v1::JobStatus& job, const v1::JobSnapshot& snapshot);

}  // namespace autodist::control
