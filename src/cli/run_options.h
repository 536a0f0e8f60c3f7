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
  std::vector<std::string> exclude = {};  // addresses of nodes
};

// Adds --framework, --per, --master-port, --workdir, --env and --pass-env.
void AddProgramOptions(CLI::App& app, v1::JobRequest& request);

// Adds all options that fill the request, which must outlive the parsing.
void AddRequest(CLI::App& app, v1::JobRequest& request);

// Reads a JSON file. kInvalidArgument: not a request, or with a value that an option rejects.
Result<v1::JobRequest> ReadRequest(const std::string& file);

// Adds the options of AddRequest and of a dry run.
void AddRunOptions(CLI::App& app, RunOptions& options);

}  // namespace autodist::cli
