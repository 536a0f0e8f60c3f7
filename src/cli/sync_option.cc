#include "cli/sync_option.h"

#include <algorithm>
#include <filesystem>

#include "base/log.h"
#include "files/file_tree.h"

namespace autodist::cli {
namespace {

namespace fs = std::filesystem;

// Where it is within the folder; "" where it is not.
std::string Within(const fs::path& folder, const fs::path& path) {
  std::string relative = (folder / path).lexically_normal().lexically_relative(folder).string();
  while (relative.ends_with('/')) relative.pop_back();
  return relative == "." || relative.starts_with("..") ? "" : relative;
}

// These hold much that is not the program's, such as keys.
Status IsFolderOfAProgram(const std::string& folder, const std::string& home) {
  std::error_code error;
  if (folder != "/" && !fs::equivalent(folder, home, error)) return OkStatus();
  return WithRemedy(Error(StatusCode::kInvalidArgument,
                          "--sync would copy all of " + folder + " to the other nodes"),
                    "start autodist in a folder that has nothing but the program and its data");
}

}  // namespace

Result<std::shared_ptr<launch::FolderSync>> MakeSync(const v1::LaunchPlan& plan,
                                                     const std::string& log_dir,
                                                     const std::string& home) {
  const auto nodes =
      std::ranges::count_if(plan.nodes(), [](const auto& node) { return node.reach().has_ssh(); });
  if (nodes == 0) return nullptr;
  const std::string& folder = plan.working_directory();
  AD_RETURN_IF_ERROR(IsFolderOfAProgram(folder, home));
  AD_ASSIGN_OR_RETURN(files::FileTree tree, files::ScanFolder(folder, Within(folder, log_dir)));
  for (const std::string& warning : tree.warnings) base::Log(base::LogLevel::kWarning, warning);
  return std::make_shared<launch::FolderSync>(std::move(tree), folder, static_cast<size_t>(nodes));
}

}  // namespace autodist::cli
