#include "reach/this_machine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/home_folder.h"
#include "reach/name_service.h"

namespace autodist::reach {
namespace {

// Returns $PWD, which may contain symbolic links, if it is the current folder: on other nodes the
// link may have another target.
Result<std::string> LogicalWorkingDirectory() {
  std::error_code error;
  const std::string physical = std::filesystem::current_path(error);
  if (error) {
    return WithRemedy(Error(StatusCode::kInvalidArgument, "working directory: " + error.message()),
                      "cd to a folder that exists");
  }
  const char* logical = std::getenv("PWD");
  const bool same =
      logical && logical[0] == '/' && std::filesystem::equivalent(logical, ".", error);
  return same ? std::string(logical) : physical;
}

}  // namespace

Result<plan::User> ThisUser() {
  AD_ASSIGN_OR_RETURN(const std::string folder, LogicalWorkingDirectory());
  const char* agent = std::getenv("SSH_AUTH_SOCK");
  return plan::User{ThisSystemUser().name, SshHomeFolder(), folder, agent ? agent : ""};
}

std::string BelowHome(const plan::User& user) {
  namespace fs = std::filesystem;
  const fs::path below = fs::path(user.working_directory).lexically_relative(base::HomeFolder());
  if (below.empty() || *below.begin() == "..") return user.working_directory;
  return "~/" + (below == "." ? "" : below.string());
}

bool TakesPart(const v1::LaunchPlan& plan) {
  return std::ranges::any_of(plan.nodes(),
                             [](const v1::NodePlan& node) { return node.reach().has_local(); });
}

std::string FolderHere(const v1::LaunchPlan& plan) {
  return TakesPart(plan) ? base::ExpandHome(plan.working_directory())
                         : LogicalWorkingDirectory().value_or(".");
}

}  // namespace autodist::reach
