// The options of `autodist run`, and those that other commands share with it.
#pragma once

#include <string>

#include "autodist/status.h"
#include "autodist/v1/job_request.pb.h"
#include "cli/app.h"
#include "display/rank_lines.h"

namespace autodist::cli {

// --show, --prefix and --color: how the output of ranks is shown. `display` must outlive the
// parsing. `group`: heading in the help.
void AddDisplayOptions(CLI::App& app, v1::Display& display, const std::string& group);

// Also sets the colors of autodist's messages. kInvalidArgument: --show names ranks that are not
// among the processes.
Result<display::View> ViewOf(const v1::Display& display,
                             const std::vector<display::Process>& processes);

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
