#include "chief/checks/synced_files.h"

#include <filesystem>
#include <system_error>

namespace autodist::chief {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxLinks = 64;

// Returns "a/b" for a path below the folder, else "".
std::string PathBelow(const fs::path& folder, const fs::path& path) {
  const fs::path relative = path.lexically_normal().lexically_relative(folder);
  return relative.empty() || relative == "." || *relative.begin() == ".." ? "" : relative.string();
}

// Returns the target of the link if it leads out of the folder and exists, else "".
std::string OutwardTarget(const fs::path& folder, const files::FileEntry& link) {
  const fs::path target =
      ((folder / link.path).parent_path() / link.link_target).lexically_normal();
  std::error_code error;
  if (target == folder || !PathBelow(folder, target).empty()) return "";
  if (!fs::exists(target, error) || error) return "";
  if (link.link_target.starts_with('/')) return target.string();
  const std::string relative = target.lexically_relative(folder).string();
  // A name without a '/' would be a program.
  return relative.find('/') == std::string::npos ? relative + "/." : relative;
}

}  // namespace

SyncedFiles CompareWithSync(const files::FileTree& tree, const std::vector<std::string>& files) {
  SyncedFiles found;
  std::error_code error;
  const fs::path folder = fs::path(tree.folder).lexically_normal();
  const fs::path real_folder = fs::canonical(folder, error);
  if (error) return found;
  std::map<std::string, std::vector<std::string>> within;  // the files, by their real paths
  std::set<std::string> reported;                          // paths below the folder
  for (const std::string& file : files) {
    const fs::path real = fs::canonical(folder / file, error);
    if (error) continue;
    const std::string below = PathBelow(real_folder, real);
    if (!below.empty()) {
      within[below].push_back(file);
      continue;
    }
    found.not_copied.insert(file);
    const std::string path = PathBelow(folder, folder / file);
    if (path.empty()) continue;
    found.leads_out[file] = real.string();
    reported.insert(path);
  }
  for (const files::FileEntry& entry : tree.entries) {
    if (entry.type == files::FileType::kRegular) within.erase(entry.path);
    if (entry.type != files::FileType::kSymlink || reported.contains(entry.path)) continue;
    if (found.links.size() == kMaxLinks) continue;
    const std::string target = OutwardTarget(folder, entry);
    if (!target.empty()) found.links.emplace(entry.path, target);
  }
  for (const auto& [path, excluded] : within) {
    found.not_copied.insert(excluded.begin(), excluded.end());
  }
  return found;
}

}  // namespace autodist::chief
