#include "agent/fetch/matching_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/folder_entries.h"
#include "base/split.h"
#include "files/temporary_file.h"
#include "rpc/limits.h"

namespace autodist::agent {
namespace {

// Opens a folder within `root`; "": the root itself.
base::UniqueFd OpenFolderWithin(int root, std::string_view path) {
  base::UniqueFd folder(openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const std::string_view part : base::Split(path, '/')) {
    if (folder.valid() && !part.empty()) {
      folder = files::OpenFolderIn(folder.get(), std::string(part));
    }
  }
  return folder;
}

class Search {
 public:
  Search(const files::FilePatterns& patterns, const std::function<bool()>& go_on)
      : patterns_(patterns), go_on_(go_on) {}

  // Opens one folder at a time, because a tree may be deeper than there are descriptors.
  Status Visit(int root) {
    while (!folders_.empty()) {
      const Folder folder = std::move(folders_.back());
      folders_.pop_back();
      AD_RETURN_IF_ERROR(VisitFolder(OpenFolderWithin(root, folder.path), folder));
    }
    std::ranges::sort(found_.paths);
    std::ranges::sort(found_.left_out);
    return OkStatus();
  }
  MatchingFiles& found() { return found_; }

 private:
  struct Folder {
    std::string path;
    bool all;  // a pattern has matched this folder, or one above it
  };

  Status VisitFolder(const base::UniqueFd& fd, const Folder& folder);
  Status VisitEntry(int folder, const std::string& name, const std::string& path, bool all);
  void LeaveOut(const std::string& path, const std::string& why) {
    found_.left_out.push_back((path.empty() ? "." : path) + ": " + why);
  }

  const files::FilePatterns& patterns_;
  const std::function<bool()>& go_on_;
  std::vector<Folder> folders_{{"", false}};  // to be visited
  MatchingFiles found_;
};

Status Search::VisitFolder(const base::UniqueFd& fd, const Folder& folder) {
  std::vector<std::string> names;
  if (fd.valid()) names = base::EntriesOf(fd.get());
  if (!fd.valid() || errno != 0) LeaveOut(folder.path, std::strerror(errno));
  for (const std::string& name : names) {
    if (files::IsTemporaryName(name)) continue;
    const std::string path = folder.path.empty() ? name : folder.path + "/" + name;
    AD_RETURN_IF_ERROR(VisitEntry(fd.get(), name, path, folder.all));
  }
  return OkStatus();
}

Status Search::VisitEntry(int folder, const std::string& name, const std::string& path, bool all) {
  if (!go_on_()) return Error(StatusCode::kCancelled, "cancelled");
  const bool wanted = all || patterns_.Match(path);
  if (!wanted && !patterns_.MayMatchIn(path)) return OkStatus();
  struct stat info;
  // Removed meanwhile.
  if (fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return OkStatus();
  if (S_ISDIR(info.st_mode)) {
    folders_.push_back({path, wanted});
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
  AD_RETURN_IF_ERROR(search.Visit(root.get()));
  search.found().folder = std::move(root);
  return std::move(search.found());
}

base::UniqueFd OpenWithin(int folder, const std::string& path) {
  const size_t name = path.rfind('/') + 1;  // 0 without a slash
  const base::UniqueFd above = OpenFolderWithin(folder, std::string_view(path).substr(0, name));
  return above.valid() ? files::OpenFileIn(above.get(), path.substr(name)) : base::UniqueFd();
}

}  // namespace autodist::agent
