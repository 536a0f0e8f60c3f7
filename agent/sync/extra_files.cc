#include "agent/sync/extra_files.h"

#include <absl/strings/ascii.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <unordered_map>
#include <utility>

#include "base/fd.h"
#include "base/folder_entries.h"
#include "base/split.h"
#include "files/file_tree.h"
#include "files/temporary_file.h"

namespace autodist::agent {
namespace {

// Whether something is mounted there, also a folder of the same file system, or another device.
// Other machines may have it, too.
bool IsMounted(int folder, const std::string& name, const struct stat& info, dev_t device) {
  struct statx more;
  return info.st_dev != device ||
         (statx(folder, name.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &more) == 0 &&
          (more.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0);
}

class ExtraSearch {
 public:
  ExtraSearch(int root, const std::vector<v1::FileEntry>& entries, const files::IgnoreTree& rules,
              const std::vector<std::string>& left_out, size_t limit)
      : root_(root), rules_(rules), left_out_(left_out), limit_(limit) {
    for (const v1::FileEntry& entry : entries) {
      known_.emplace(entry.path(), entry.type() == v1::FILE_TYPE_FOLDER);
    }
  }

  Result<ExtraFiles> Run(const std::function<bool()>& go_on) {
    struct stat info;
    if (fstat(root_, &info) != 0) return ErrnoError(errno, "fstat");
    device_ = info.st_dev;
    // Opens one folder at a time, because a tree may be deeper than there are descriptors.
    while (!folders_.empty() && found_.complete) {
      if (!go_on()) return Error(StatusCode::kCancelled, "cancelled");
      const Folder folder = std::move(folders_.back());
      folders_.pop_back();
      Visit(folder);
    }
    std::ranges::sort(found_.files);
    std::ranges::sort(found_.folders);
    return std::move(found_);
  }

 private:
  using Fate = files::IgnoreTree::Fate;

  struct Folder {
    std::string path;
    bool ignored;  // whether .gitignore excludes it; git tracks something in it all the same
  };

  void Visit(const Folder& folder);
  void VisitEntry(const Folder& folder, int fd, const std::string& name);

  const int root_;
  const files::IgnoreTree& rules_;
  const std::vector<std::string>& left_out_;
  const size_t limit_;
  dev_t device_ = 0;
  std::unordered_map<std::string_view, bool> known_;  // the chief's paths: whether they are folders
  std::vector<Folder> folders_{{"", false}};          // to be visited
  ExtraFiles found_;
};

void ExtraSearch::Visit(const Folder& folder) {
  const base::UniqueFd fd = files::OpenFolderWithin(root_, folder.path);
  if (!fd.valid()) return;
  for (const std::string& name : base::EntriesOf(fd.get())) {
    if (!found_.complete) return;
    VisitEntry(folder, fd.get(), name);
  }
}

void ExtraSearch::VisitEntry(const Folder& folder, int fd, const std::string& name) {
  std::string path = folder.path.empty() ? name : folder.path + "/" + name;
  const auto known = known_.find(path);
  struct stat info;
  if ((known != known_.end() && !known->second) ||
      fstatat(fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return;
  }
  const bool is_folder = S_ISDIR(info.st_mode);
  if (is_folder && IsMounted(fd, name, info, device_)) return;
  const Fate fate = rules_.FateOf(path, is_folder, folder.ignored);
  if (known != known_.end()) {
    if (is_folder) folders_.push_back({std::move(path), fate == Fate::kIgnoredByGit});
    return;
  }
  if (fate != Fate::kCopied || files::IsNeverCopied(name, is_folder) ||
      std::ranges::count(left_out_, path) > 0) {
    return;
  }
  // A virtual environment of Python was made for this machine.
  if (is_folder && faccessat(fd, (name + "/pyvenv.cfg").c_str(), F_OK, 0) == 0) return;
  if (is_folder) {
    found_.folders.push_back(path);
    folders_.push_back({std::move(path), false});
  } else if (S_ISREG(info.st_mode) || S_ISLNK(info.st_mode)) {
    found_.complete = found_.files.size() < limit_;
    if (found_.complete) found_.files.push_back(std::move(path));
  }
}

// Ends of names, and beginnings of the names of files and folders.
constexpr std::string_view kReadEnds[] = {
    ".py",  ".so",      ".pt",   ".pth", ".ckpt",     ".bin",   ".distcp",     ".h5",
    ".npz", ".msgpack", ".onnx", ".pkl", ".pdparams", ".pdopt", ".safetensors"};
constexpr std::string_view kReadBegins[] = {"ckpt", "checkpoint", "snapshot"};

// Deletes an entry of the folder within root. An entry that is no longer there is a success.
Status DeleteEntry(int root, const std::string& path, int flags) {
  const size_t name = path.rfind('/') + 1;  // 0 without a slash
  const base::UniqueFd above =
      files::OpenFolderWithin(root, std::string_view(path).substr(0, name));
  if (above.valid() && unlinkat(above.get(), path.c_str() + name, flags) == 0) return OkStatus();
  const bool is_full = (flags & AT_REMOVEDIR) != 0 && (errno == ENOTEMPTY || errno == EEXIST);
  return is_full || errno == ENOENT ? OkStatus() : ErrnoError(errno, "deleting " + path);
}

}  // namespace

Result<ExtraFiles> FindExtraFiles(int root, const std::vector<v1::FileEntry>& entries,
                                  const files::IgnoreTree& rules,
                                  const std::vector<std::string>& left_out, size_t limit,
                                  const std::function<bool()>& go_on) {
  return ExtraSearch(root, entries, rules, left_out, limit).Run(go_on);
}

Status DeleteExtraFiles(int root, const ExtraFiles& extra) {
  for (const std::string& path : extra.files) AD_RETURN_IF_ERROR(DeleteEntry(root, path, 0));
  for (auto path = extra.folders.rbegin(); path != extra.folders.rend(); ++path) {
    AD_RETURN_IF_ERROR(DeleteEntry(root, *path, AT_REMOVEDIR));
  }
  return OkStatus();
}

bool MayBeReadAtStart(std::string_view path) {
  const std::string lower = absl::AsciiStrToLower(std::string(path));
  const auto parts = base::Split(lower, '/');
  const auto is_read = [](std::string_view part) {
    return std::ranges::any_of(kReadBegins,
                               [&](std::string_view begin) { return part.starts_with(begin); });
  };
  return std::ranges::any_of(parts, is_read) ||
         std::ranges::any_of(kReadEnds, [&](std::string_view end) { return lower.ends_with(end); });
}

}  // namespace autodist::agent
