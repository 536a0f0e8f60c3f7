#include "transfer/sync_source.h"

#include <algorithm>
#include <filesystem>

#include "base/log.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "files/file_tree.h"
#include "reach/this_machine.h"

namespace autodist::transfer {
namespace {

namespace fs = std::filesystem;

// Returns the path relative to the folder; "" if it is outside.
std::string Within(const fs::path& folder, const fs::path& path) {
  std::string relative = (folder / path).lexically_normal().lexically_relative(folder).string();
  while (relative.ends_with('/')) relative.pop_back();
  return relative == "." || relative.starts_with("..") ? "" : relative;
}

// These folders contain much besides the program, such as keys.
Status IsFolderOfAProgram(const std::string& folder, const std::string& home) {
  std::error_code error;
  if (folder != "/" && !fs::equivalent(folder, home, error)) return OkStatus();
  return WithRemedy(Error(StatusCode::kInvalidArgument,
                          "--sync would copy all of " + folder + " to the other nodes"),
                    "start autodist in a folder that has nothing but the program and its data");
}

int NodesToCopyTo(const v1::LaunchPlan& plan) {
  return static_cast<int>(std::ranges::count_if(
      plan.nodes(), [](const auto& node) { return !node.reach().has_local(); }));
}

}  // namespace

std::string WhatIsIgnored(const files::Ignored& ignored) {
  std::string text;
  if (ignored.files > 0) {
    text = base::Count(ignored.files, "file") + ", " + base::Bytes(ignored.bytes);
  }
  if (ignored.folders > 0) {
    text += (text.empty() ? "" : ", and ") + base::Count(ignored.folders, "folder");
  }
  if (text.empty()) return "";
  std::string examples;
  for (const std::string& path : ignored.examples) {
    examples += (examples.empty() ? "" : ", ") + base::Printable(path);
  }
  const bool all = ignored.examples.size() == ignored.files + ignored.folders;
  return "left out of --sync by .gitignore: " + text + (all ? ": " : ", such as ") + examples;
}

Result<std::shared_ptr<FolderSync>> SyncOf(const std::string& folder, const v1::LaunchPlan& plan,
                                           const std::string& leave_out, v1::SyncTopology from) {
  const int nodes = NodesToCopyTo(plan);
  if (nodes == 0) return nullptr;
  AD_ASSIGN_OR_RETURN(files::FileTree tree, files::ScanFolder(folder, leave_out));
  for (const std::string& warning : tree.warnings) base::Log(base::LogLevel::kWarning, warning);
  const std::string ignored = WhatIsIgnored(tree.ignored);
  if (!ignored.empty()) base::Log(base::LogLevel::kInfo, ignored);
  std::unique_ptr<FileRelay> relay;
  if (from == v1::SYNC_TOPOLOGY_RELAY && nodes > 1 && !reach::TakesPart(plan)) {
    relay = std::make_unique<FileRelay>(plan.nodes(0), static_cast<size_t>(nodes) - 1);
  }
  return std::make_shared<FolderSync>(std::move(tree), plan.working_directory(),
                                      static_cast<size_t>(nodes), std::move(relay));
}

Result<std::shared_ptr<FolderSync>> SyncOfWorkingDirectory(const v1::LaunchPlan& plan,
                                                           const v1::JobRequest& request,
                                                           const std::string& home) {
  if (NodesToCopyTo(plan) == 0) return nullptr;
  const std::string folder = reach::FolderHere(plan);
  AD_RETURN_IF_ERROR(IsFolderOfAProgram(folder, home));
  return SyncOf(folder, plan, Within(folder, request.log_dir()), request.sync_topology());
}

}  // namespace autodist::transfer
