// What `autodist run --sync` copies.
#pragma once

#include <memory>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "launch/folder_sync.h"

namespace autodist::cli {

// Looks through the working directory; warnings go to the log. What is in `log_dir` stays here.
// Null where there is no node to copy to.
Result<std::shared_ptr<launch::FolderSync>> MakeSync(const v1::LaunchPlan& plan,
                                                     const std::string& log_dir,
                                                     const std::string& home);

}  // namespace autodist::cli
