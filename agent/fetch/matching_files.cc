#include "agent/fetch/matching_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/split.h"
#include "files/temporary_file.h"
#include "files/within_folder.h"
#include "rpc/limits.h"

namespace autodist::agent {
namespace {

class Search {
 public:
  Search(const files::FilePatterns& patterns, const std::function<bool()>& go_on)
      : patterns_(patterns), go_on_(go_on) {}

  Status VisitFolder(int folder, const std::string& path, bool all);
  MatchingFiles& found() { return found_; }

 private:
  Status Visit(int folder, const std::string& name, const std::string& path, bool all);
  void LeaveOut(const std::string& path, const std::string& why) {
    found_.left_out.push_back((path.empty() ? "." : path) + ": " + why);
  }

  const files::FilePatterns& patterns_;
  const std::function<bool()>& go_on_;
  MatchingFiles found_;
};

// `all`: a pattern has matched this folder, or one above it.
Status Search::VisitFolder(int folder, const std::string& path, bool all) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(
      fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), closedir);
  if (!listing) {
    LeaveOut(path, std::strerror(errno));
    return OkStatus();
  }
  std::vector<std::string> names;
  while (const dirent* entry = readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !files::IsTemporaryName(name)) names.emplace_back(name);
    if (!go_on_()) return Error(StatusCode::kCancelled, "cancelled");
  }
  std::ranges::sort(names);
  for (const std::string& name : names) {
    AD_RETURN_IF_ERROR(Visit(folder, name, path.empty() ? name : path + "/" + name, all));
  }
  return OkStatus();
}

Status Search::Visit(int folder, const std::string& name, const std::string& path, bool all) {
  if (!go_on_()) return Error(StatusCode::kCancelled, "cancelled");
  const bool wanted = all || patterns_.Match(path);
  if (!wanted && !patterns_.MayMatchIn(path)) return OkStatus();
  struct stat info;
  // Removed meanwhile.
  if (fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return OkStatus();
  if (S_ISDIR(info.st_mode)) {
    const base::UniqueFd fd = files::OpenFolderIn(folder, name);
    if (fd.valid()) return VisitFolder(fd.get(), path, wanted);
    LeaveOut(path, std::strerror(errno));
  } else if (!wanted) {
    return OkStatus();
  } else if (!S_ISREG(info.st_mode)) {
    LeaveOut(path, S_ISLNK(info.st_mode) ? "a symbolic link" : "neither a file nor a folder");
  } else {
    found_.paths.push_back(path);
    found_.bytes += static_cast<uint64_t>(info.st_size);
  }
  if (found_.paths.size() <= rpc::kMaxFetchedFiles) return OkStatus();
  return WithRemedy(Error(StatusCode::kOutOfRange,
                          "more than " + std::to_string(rpc::kMaxFetchedFiles) + " files match"),
                    "ask for fewer, or for an archive of them");
}

}  // namespace

Result<MatchingFiles> FindFiles(const std::string& folder, const files::FilePatterns& patterns,
                                const std::function<bool()>& go_on) {
  base::UniqueFd root(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return ErrnoError(errno, "the working directory " + folder);
  Search search(patterns, go_on);
  AD_RETURN_IF_ERROR(search.VisitFolder(root.get(), "", false));
  search.found().folder = std::move(root);
  return std::move(search.found());
}

base::UniqueFd OpenWithin(int folder, const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return files::OpenFileIn(folder, path);
  base::UniqueFd above;
  for (const std::string_view part : base::Split(std::string_view(path).substr(0, slash), '/')) {
    above = files::OpenFolderIn(above.valid() ? above.get() : folder, std::string(part));
    if (!above.valid()) return {};
  }
  return files::OpenFileIn(above.get(), path.substr(slash + 1));
}

}  // namespace autodist::agent
