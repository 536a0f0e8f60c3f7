// Puts a load on all devices and on the links between them, for `doctor --burn`.
#pragma once

#include <chrono>

#include "autodist/v1/diagnosis.pb.h"
#include "autodist/v1/job_request.pb.h"
#include "spec/resource_spec.h"

namespace autodist::cli {

// Runs jobs that load each device and each link for this time in total, and adds their results and
// issues to the diagnosis. Prints what fails. Returns 0, or the exit code of a job that failed; the
// diagnosis then has what was measured before. Blocks. Call it
// in a process without other threads that take signals.
int Burn(const spec::ResourceSpec& spec, const v1::JobRequest& doctor,
         std::chrono::milliseconds time, v1::Diagnosis& diagnosis);

}  // namespace autodist::cli
