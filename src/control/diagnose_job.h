// The diagnosis of a job, for `autodist why`, `autodist top` and the page.
#pragma once

#include <stop_token>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"

namespace autodist::control {

// Asks the job's autodist or, after the job's end, judges by its record. Blocks for seconds, two
// minutes at most; kCancelled: by `stop`.
Result<v1::JobDiagnosis> DiagnoseJob(v1::JobStatus job, const std::stop_token& stop = {});
Result<v1::JobDiagnosis> DiagnoseJobNamed(const std::string& job_id, const std::stop_token& stop);

// {"job_id": …, "diagnosis": "issue" | "ok" | "unknown", "issue": {…}}, on one line.
std::string DiagnosisJson(const std::string& job_id, const v1::JobDiagnosis& diagnosis);

}  // namespace autodist::control
