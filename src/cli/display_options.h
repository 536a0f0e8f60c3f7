// --show, --prefix and --color: how the output of ranks is shown.
#pragma once

#include <string>

#include "autodist/status.h"
#include "autodist/v1/job_request.pb.h"
#include "cli/app.h"
#include "display/rank_lines.h"

namespace autodist::cli {

// `display` must outlive the parsing. `group`: heading in the help.
void AddDisplayOptions(CLI::App& app, v1::Display& display, const std::string& group);

// Also sets the colors of autodist's messages. kInvalidArgument: --show names ranks that are not
// among the processes.
Result<display::View> ViewOf(const v1::Display& display,
                             const std::vector<display::Process>& processes);

}  // namespace autodist::cli
