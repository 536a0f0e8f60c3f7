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

// Returns the path relative to the folder; "" if it is outside. Follows symbolic links, so that a
// folder counts by whatever path it is named.
std::string Within(const fs::path& folder, const fs::path& path) {
  const auto real = [](const fs::path& from) {
    std::error_code error;
    fs::path found = fs::weakly_canonical(from, error);
    return error ? from.lexically_normal() : found;
  };
  std::string relative = real(folder / path).lexically_relative(real(folder)).string();
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
                                           const std::string& leave_out, v1::SyncTopology from,
                                           SyncOptions options) {
  const int nodes = NodesToCopyTo(plan);
  if (nodes == 0) return nullptr;
  AD_ASSIGN_OR_RETURN(files::FileTree tree, files::ScanFolder(folder, leave_out));
  for (const std::string& warning : tree.warnings) base::Log(base::LogLevel::kWarning, warning);
  const std::string ignored = WhatIsIgnored(tree.ignored);
  if (!ignored.empty()) base::Log(base::LogLevel::kInfo, ignored);
  std::unique_ptr<FileRelay> relay;
  if (from == v1::SYNC_TOPOLOGY_RELAY && nodes > 1 && !options.preview && !reach::TakesPart(plan)) {
    relay = std::make_unique<FileRelay>(plan.nodes(0), static_cast<size_t>(nodes) - 1);
  }
  options.target = plan.working_directory();
  options.nodes = static_cast<size_t>(nodes);
  for (const v1::NodePlan& node : plan.nodes()) {
    options.addresses.push_back(node.address());
    if (!node.reach().has_local()) options.targets[node.node_rank()] = node.address();
  }
  return std::make_shared<FolderSync>(std::move(tree), std::move(options), std::move(relay));
}

Result<std::shared_ptr<FolderSync>> SyncOfWorkingDirectory(
    const v1::LaunchPlan& plan, const v1::JobRequest& request, const std::string& home,
    bool preview, std::function<std::vector<JobTime>()> jobs, std::vector<NodeWarning> warnings) {
  if (NodesToCopyTo(plan) == 0) return nullptr;
  const std::string folder = reach::FolderHere(plan);
  AD_RETURN_IF_ERROR(IsFolderOfAProgram(folder, home));
  return SyncOf(folder, plan, Within(folder, request.log_dir()), request.sync_topology(),
                {.mirror = request.sync_delete(),
                 .preview = preview,
                 .jobs = std::move(jobs),
                 .warnings = std::move(warnings)});
}

}  // namespace autodist::transfer
