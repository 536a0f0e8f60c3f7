#include "reach/this_machine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/home_folder.h"
#include "reach/name_service.h"

namespace autodist::reach {
namespace {

// As the shell shows it, symbolic links and all, where that is where we are: nodes may have the
// same link to another place.
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

std::vector<uint32_t> LocalGpus() {
  std::vector<uint32_t> gpus;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", error)) {
    (void)entry;
    gpus.push_back(static_cast<uint32_t>(gpus.size()));
  }
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!visible || gpus.empty()) return gpus;
  // CUDA itself stops at the first entry that is not a device, and so do we.
  const size_t present = gpus.size();
  gpus.clear();
  std::istringstream entries(visible);
  std::string entry;
  while (std::getline(entries, entry, ',')) {
    char* end = nullptr;
    const unsigned long device = std::strtoul(entry.c_str(), &end, 10);
    if (end == entry.c_str() || *end != '\0' || device >= present) break;
    gpus.push_back(static_cast<uint32_t>(device));
  }
  return gpus;
}

}  // namespace autodist::reach
