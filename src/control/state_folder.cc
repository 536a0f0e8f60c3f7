#include "control/state_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/home_folder.h"
#include "base/private_folder.h"

namespace autodist::control {
namespace {

namespace fs = std::filesystem;

// Whether the folder can be written to or created.
bool CanBeWritten(const fs::path& folder) {
  std::error_code error;
  fs::path there = folder;
  while (there.has_relative_path() && !fs::exists(there, error)) there = there.parent_path();
  return fs::is_directory(there, error) && access(there.c_str(), W_OK | X_OK) == 0;
}

// All users can write to /tmp, so the folder must belong to this user alone.
std::string FolderInTmp() { return "/tmp/autodist-state-" + std::to_string(geteuid()); }

}  // namespace

Result<std::string> StateFolder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  std::vector<std::string> places;
  if (state && state[0] == '/') places.push_back(std::string(state) + "/autodist");
  std::string home = base::HomeFolder();
  while (home.ends_with('/')) home.pop_back();
  if (!base::HomeFolder().empty()) places.push_back(home + "/.local/state/autodist");
  const auto found = std::ranges::find_if(places, CanBeWritten);
  if (found != places.end()) return *found;
  if (base::CanBePrivateFolder(FolderInTmp())) return FolderInTmp();
  return WithRemedy(Error(StatusCode::kNotFound,
                          "neither the home folder nor " + FolderInTmp() + " can be written to"),
                    kAnotherStateFolder);
}

Status MakeStateFolder(const std::string& path) {
  if (path == FolderInTmp() || path.starts_with(FolderInTmp() + "/")) {
    AD_RETURN_IF_ERROR(base::MakePrivateFolder(FolderInTmp(), "remove it"));
  }
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) fs::permissions(path, fs::perms::owner_all, error);
  return error ? ErrnoError(error.value(), "making the folder " + path) : OkStatus();
}

}  // namespace autodist::control
