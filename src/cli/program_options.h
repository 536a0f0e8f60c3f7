// The program on the command line, and what it is told.
#pragma once

#include "autodist/v1/job_request.pb.h"
#include "cli/app.h"

namespace autodist::cli {

// --dialect, --per, --master-port, --workdir, --env and --pass-env.
void AddProgramOptions(CLI::App& app, v1::JobRequest& request);

}  // namespace autodist::cli
