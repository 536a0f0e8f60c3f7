// The options of `autodist run`.
#pragma once

#include <string>

#include "autodist/status.h"
#include "autodist/v1/job_request.pb.h"
#include "cli/app.h"

namespace autodist::cli {

struct RunOptions {
  v1::JobRequest request;
  bool dry_run = false;
  bool verbose = false;
  bool show_env_values = false;
};

// --framework, --per, --master-port, --workdir, --env and --pass-env: the program, and what it
// receives.
void AddProgramOptions(CLI::App& app, v1::JobRequest& request);

// What the request is filled with. It has to outlive the parsing.
void AddRequest(CLI::App& app, v1::JobRequest& request);

// Of a file, as JSON. kInvalidArgument: it is none, or has a value that an option refuses.
Result<v1::JobRequest> ReadRequest(const std::string& file);

// These options, and how a dry run is shown.
void AddRunOptions(CLI::App& app, RunOptions& options);

}  // namespace autodist::cli
