#include "agent/prepare/local_checkpoint.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/home_folder.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "files/newest_file.h"

namespace autodist::agent {
namespace {

namespace fs = std::filesystem;

// Few, because each start looks at them.
constexpr int kMaxLocalEntries = 10'000;
// Kernel headers lack it.
constexpr unsigned long kZfsMagic = 0x2fc12fc1;

// A folder that is missing would be on the file system of the folder above it.
LocalCheckpoint Search(const fs::path& folder, const std::vector<std::string>& left_out) {
  fs::path existing = folder;
  struct statfs info {};
  while (statfs(existing.c_str(), &info) != 0) {
    if (errno != ENOENT || !existing.has_relative_path()) return std::nullopt;
    existing = existing.parent_path();
  }
  if (!IsOnOneMachine(static_cast<unsigned long>(info.f_type))) return std::nullopt;
  v1::CheckpointFact fact;
  if (existing != folder) return fact;
  const auto newest = files::NewestFile(folder, left_out, kMaxLocalEntries);
  if (!newest || !newest->complete) return std::nullopt;
  if (newest->written_ns > 0) {
    fact.set_name(base::ToUtf8(newest->name));
    fact.set_written_ns(newest->written_ns);
  }
  return fact;
}

}  // namespace

bool IsOnOneMachine(unsigned long type) {
  constexpr unsigned long kTypes[] = {
      EXT4_SUPER_MAGIC,      XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
      OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC,     RAMFS_MAGIC,       kZfsMagic};
  return std::ranges::count(kTypes, type) > 0;
}

std::future<LocalCheckpoint> SearchLocalCheckpoint(const v1::CheckpointRequest& request,
                                                   const std::string& directory) {
  fs::path folder = (fs::path(directory) / base::ExpandHome(request.folder())).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // written with a slash at its end
  std::promise<LocalCheckpoint> promise;
  auto result = promise.get_future();
  auto thread = base::StartThread(
      [folder = std::move(folder),
       left_out = std::vector<std::string>(request.left_out().begin(), request.left_out().end()),
       promise = std::move(promise)]() mutable { promise.set_value(Search(folder, left_out)); });
  if (!thread.ok()) return {};
  thread->detach();
  return result;
}

}  // namespace autodist::agent
