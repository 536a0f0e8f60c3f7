#include "files/newest_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/wall_clock.h"
#include "files/file_tree.h"

namespace autodist::files {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 8;
// A file server's clock may be ahead of ours; a file with an invented time would hide all files
// that are written until then.
constexpr std::chrono::seconds kMaxAhead{3600};

// Files that trainers write all the time beside their checkpoints.
bool IsLog(std::string_view name) {
  return name.ends_with(".log") || name.starts_with("events.out.tfevents");
}

}  // namespace

std::optional<DatedFile> NewestFile(const std::string& folder,
                                    const std::vector<std::string>& left_out, int max_entries) {
  if (access(folder.c_str(), R_OK | X_OK) != 0) return std::nullopt;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         error);
  if (error) return std::nullopt;
  const int64_t latest_s = base::NanosecondsSince1970() / 1'000'000'000 + kMaxAhead.count();
  DatedFile newest;
  // A file that is removed meanwhile ends the scan; the next scan sees the rest.
  for (int entries = 0; !error && entry != fs::end(entry) && entries < max_entries; ++entries) {
    if (entry.depth() >= kMaxDepth) entry.disable_recursion_pending();
    struct stat is {};
    const bool found = lstat(entry->path().c_str(), &is) == 0;
    const auto name = [&] { return entry->path().filename().string(); };
    if (found && S_ISDIR(is.st_mode) &&
        (IsNeverCopied(name(), true) ||
         std::ranges::count(left_out, entry->path().lexically_normal().string()) > 0)) {
      entry.disable_recursion_pending();
    }
    if (found && S_ISREG(is.st_mode) && is.st_mtim.tv_sec <= latest_s &&
        ModifiedNs(is) > newest.written_ns && !IsLog(name()) && !IsNeverCopied(name(), false)) {
      newest.written_ns = ModifiedNs(is);
      newest.name = entry->path().lexically_relative(folder).string();
    }
    entry.increment(error);
  }
  newest.complete = !error && entry == fs::end(entry);
  return newest;
}

}  // namespace autodist::files
