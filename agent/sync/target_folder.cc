#include "agent/sync/target_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <deque>
#include <string_view>

#include "base/folder_entries.h"
#include "base/split.h"
#include "files/digest.h"
#include "files/file_tree.h"

namespace autodist::agent {
namespace {

constexpr int kMaxLinks = 40;  // the limit of the kernel

class SafeWalk {
 public:
  explicit SafeWalk(const std::string& path) { PutFirst(path, true); }

  Result<ReachedFolder> Go() {
    while (!parts_.empty()) {
      const Part part = std::move(parts_.front());
      parts_.pop_front();
      AD_RETURN_IF_ERROR(Enter(part));
    }
    return std::move(at_);
  }

 private:
  struct Part {
    std::string name;
    bool may_be_made;
  };

  // Puts the parts of a path before the remaining ones.
  void PutFirst(std::string_view path, bool may_be_made) {
    if (path.starts_with('/')) {
      at_.fd.Reset(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
      shown_ = "";
    }
    std::deque<Part> parts;
    for (const std::string_view name : base::Split(path, '/')) {
      if (!name.empty() && name != ".") parts.push_back({std::string(name), may_be_made});
    }
    parts_.insert(parts_.begin(), parts.begin(), parts.end());
  }

  Status Enter(const Part& part) {
    const std::string shown = shown_ + "/" + part.name;
    at_.made = false;
    // O_DIRECTORY triggers automounts.
    base::UniqueFd found = Open(part.name, O_DIRECTORY);
    if (!found.valid() && errno == ENOENT && part.may_be_made) {
      at_.made = mkdirat(at_.fd.get(), part.name.c_str(), parts_.empty() ? 0700 : 0777) == 0;
      if (!at_.made && errno != EEXIST) return ErrnoError(errno, "making the folder " + shown);
      found = Open(part.name, O_DIRECTORY);
    }
    if (!found.valid() && errno == ENOTDIR) found = Open(part.name, 0);
    struct stat info;
    if (!found.valid() || fstat(found.get(), &info) != 0) return ErrnoError(errno, shown);
    if (part.name != "..") AD_RETURN_IF_ERROR(CheckOwner(info, shown));
    if (S_ISLNK(info.st_mode)) return Follow(found, shown);
    if (!S_ISDIR(info.st_mode)) return ErrnoError(ENOTDIR, shown);
    at_.fd = std::move(found);
    shown_ = shown;
    return OkStatus();
  }

  base::UniqueFd Open(const std::string& name, int flags) const {
    return base::UniqueFd(
        openat(at_.fd.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC | flags));
  }

  Status CheckOwner(const struct stat& info, const std::string& shown) const {
    struct stat above;
    if (fstat(at_.fd.get(), &above) != 0) return ErrnoError(errno, shown);
    const bool trusted =
        info.st_uid == geteuid() || info.st_uid == 0 || info.st_uid == above.st_uid;
    if (trusted || (above.st_mode & S_IWOTH) == 0) return OkStatus();
    return WithRemedy(
        Error(StatusCode::kPermissionDenied, shown + " belongs to another user, number " +
                                                 std::to_string(info.st_uid) +
                                                 ", in a folder where everyone can write"),
        "remove it on the node, or use another working directory");
  }

  // Does not create the target of a link.
  Status Follow(const base::UniqueFd& link, const std::string& shown) {
    if (++links_ > kMaxLinks) return ErrnoError(ELOOP, shown);
    std::array<char, PATH_MAX> target;
    const ssize_t length = readlinkat(link.get(), "", target.data(), target.size());
    if (length < 0) return ErrnoError(errno, shown);
    PutFirst({target.data(), static_cast<size_t>(length)}, false);
    return OkStatus();
  }

  ReachedFolder at_;
  std::string shown_;  // its path; "" for /
  std::deque<Part> parts_;
  int links_ = 0;
};

constexpr uint32_t kOwnerMayFill = 0700;
constexpr std::string_view kPythonSource = ".py";

Status InTheWay(std::string_view what_is, std::string_view what_should_be) {
  return WithRemedy(
      Error(StatusCode::kFailedPrecondition,
            std::string(what_is) + " there, but " + std::string(what_should_be) + " on the chief"),
      "remove it there, or list it in .autodistignore");
}

std::string_view KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISREG(mode)) return "a file";
  if (S_ISLNK(mode)) return "a symbolic link";
  return "neither a file nor a folder";
}

Result<base::UniqueFd> OpenSubfolder(int folder, const std::string& name) {
  base::UniqueFd fd = files::OpenFolderIn(folder, name);
  if (fd.valid()) return fd;
  const int error = errno;
  struct stat info;
  if (fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(info.st_mode)) {
    return InTheWay(KindOf(info.st_mode), "a folder");
  }
  return ErrnoError(error, "opening the folder");
}

// Keeps set-group-ID and similar bits, and the permissions of another user's folder.
void GiveMode(int folder, uint32_t mode) {
  struct stat info;
  const mode_t wanted = (mode & files::kPermissions) | kOwnerMayFill;
  if (fstat(folder, &info) == 0 && (info.st_mode & files::kPermissions) != wanted) {
    (void)!fchmod(folder, (info.st_mode & 07000) | wanted);
  }
}

}  // namespace

Result<ReachedFolder> ReachFolder(const std::string& path) { return SafeWalk(path).Go(); }

std::string WriteRemedy(const Status& failure) {
  if (!Remedy(failure).empty()) return Remedy(failure);
  switch (ErrnoOf(failure)) {
    case ENOTDIR:
      return "remove the file that is in the place of the folder, or use another folder "
             "(--workdir)";
    case EROFS:
      return "mount that file system writable, or use another folder (--workdir)";
    case ENOSPC:
      return "make room there (`df -h`; without free inodes `df -i`)";
    case EDQUOT:
      return "make room in your quota there";
    case EACCES:
    case EPERM:
      return "correct the permissions there, or use another folder (--workdir)";
    default:
      return "";
  }
}

Result<TargetFolder> TargetFolder::Open(const std::string& path, uint32_t mode) {
  if (!path.starts_with('/') || path.find('\0') != std::string::npos) {
    return Error(StatusCode::kInvalidArgument, "'" + path + "' is not an absolute path");
  }
  AD_ASSIGN_OR_RETURN(const ReachedFolder reached, ReachFolder(path));
  base::UniqueFd root(openat(reached.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return ErrnoError(errno, path);
  if (reached.made) GiveMode(root.get(), mode & ~static_cast<uint32_t>(S_IWOTH));
  struct stat info;
  if (fstat(root.get(), &info) != 0) return ErrnoError(errno, path);
  files::RemoveLeftovers(root.get());
  return TargetFolder(std::move(root), (info.st_mode & S_IWOTH) != 0);
}

Result<TargetFolder::Place> TargetFolder::Find(const std::string& path) {
  AD_RETURN_IF_ERROR(files::CheckPathWithin(path));
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return Place{root_.get(), path};
  const std::string parent = path.substr(0, slash);
  if (!found_.valid() || found_path_ != parent) {
    found_path_.clear();
    base::UniqueFd folder;
    for (const std::string_view part : base::Split(parent, '/')) {
      const int above = folder.valid() ? folder.get() : root_.get();
      AD_ASSIGN_OR_RETURN(folder, OpenSubfolder(above, std::string(part)));
    }
    found_ = std::move(folder);
    found_path_ = parent;
  }
  return Place{found_.get(), path.substr(slash + 1)};
}

Result<TargetFolder::Match> TargetFolder::Settle(const v1::FileEntry& entry) {
  AD_ASSIGN_OR_RETURN(const Place place, Find(entry.path()));
  if (entry.type() == v1::FILE_TYPE_FOLDER) {
    AD_RETURN_IF_ERROR(MakeFolder(place, entry.mode()));
    return Match::kSame;
  }
  if (entry.type() == v1::FILE_TYPE_SYMLINK) {
    AD_RETURN_IF_ERROR(MakeSymlink(place, entry.link_target()));
    return Match::kSame;
  }
  if (entry.type() != v1::FILE_TYPE_REGULAR) {
    return Error(StatusCode::kInvalidArgument, "an entry of unknown type");
  }
  struct stat info;
  if (fstatat(place.folder, place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return Match::kDifferent;
    return ErrnoError(errno, "lstat");
  }
  if (S_ISLNK(info.st_mode)) return Match::kDifferent;
  if (!S_ISREG(info.st_mode)) return InTheWay(KindOf(info.st_mode), "a file");
  if (static_cast<uint64_t>(info.st_size) != entry.size()) return Match::kDifferent;
  if (files::ModifiedNs(info) != entry.modified_ns() || !record_.Has(entry, info)) {
    return Match::kSuspect;
  }
  const uint32_t mode = entry.mode() & files::kPermissions;
  if ((info.st_mode & files::kPermissions) == mode) return Match::kSame;
  // A file that we cannot change or open is replaced.
  const base::UniqueFd fd = files::OpenFileIn(place.folder, place.name);
  return fd.valid() && fchmod(fd.get(), mode) == 0 ? Match::kSame : Match::kDifferent;
}

Status TargetFolder::MakeFolder(const Place& place, uint32_t mode) {
  if (mkdirat(place.folder, place.name.c_str(), kOwnerMayFill) != 0 && errno != EEXIST) {
    return ErrnoError(errno, "making the folder");
  }
  AD_ASSIGN_OR_RETURN(const base::UniqueFd fd, OpenSubfolder(place.folder, place.name));
  GiveMode(fd.get(), mode);
  files::RemoveLeftovers(fd.get());
  return OkStatus();
}

Status TargetFolder::MakeSymlink(const Place& place, const std::string& target) {
  if (target.empty() || target.find('\0') != std::string::npos) {
    return Error(StatusCode::kInvalidArgument, "a symbolic link to nowhere");
  }
  std::array<char, PATH_MAX> now;
  const ssize_t length = readlinkat(place.folder, place.name.c_str(), now.data(), now.size());
  if (length >= 0 && std::string_view(now.data(), static_cast<size_t>(length)) == target) {
    return OkStatus();
  }
  if (symlinkat(target.c_str(), place.folder, place.name.c_str()) == 0) return OkStatus();
  if (errno != EEXIST) return ErrnoError(errno, "making the symbolic link");
  struct stat info;
  if (fstatat(place.folder, place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return ErrnoError(errno, "lstat");
  }
  if (!S_ISLNK(info.st_mode) && !S_ISREG(info.st_mode)) {
    return InTheWay(KindOf(info.st_mode), "a symbolic link");
  }
  const std::string name = files::NewTemporaryName();
  if (symlinkat(target.c_str(), place.folder, name.c_str()) != 0) {
    return ErrnoError(errno, "making the symbolic link");
  }
  if (renameat(place.folder, name.c_str(), place.folder, place.name.c_str()) != 0) {
    Status status = ErrnoError(errno, "making the symbolic link");
    unlinkat(place.folder, name.c_str(), 0);
    return status;
  }
  return OkStatus();
}

Result<std::string> TargetFolder::Digest(const v1::FileEntry& entry,
                                         const std::function<bool()>& go_on) {
  AD_ASSIGN_OR_RETURN(const Place place, Find(entry.path()));
  const base::UniqueFd fd = files::OpenFileIn(place.folder, place.name);
  if (!fd.valid()) return ErrnoError(errno, "opening the file");
  return files::DigestOfContent(fd.get(), "reading", go_on);
}

void TargetFolder::TakeOverTime(const v1::FileEntry& entry) {
  const auto place = Find(entry.path());
  if (!place.ok()) return;
  const base::UniqueFd fd = files::OpenFileIn(place->folder, place->name);
  if (!fd.valid()) return;
  (void)!fchmod(fd.get(), entry.mode() & files::kPermissions);
  files::SetModified(fd.get(), entry.modified_ns());
}

base::UniqueFd TargetFolder::OpenSame(const v1::FileEntry& entry) {
  const auto place = Find(entry.path());
  if (!place.ok()) return {};
  base::UniqueFd fd = files::OpenFileIn(place->folder, place->name);
  struct stat info;
  const bool same = fd.valid() && fstat(fd.get(), &info) == 0 &&
                    static_cast<uint64_t>(info.st_size) == entry.size();
  return same ? std::move(fd) : base::UniqueFd();
}

Result<files::NewFile> TargetFolder::Create(const v1::FileEntry& entry) {
  AD_ASSIGN_OR_RETURN(const Place place, Find(entry.path()));
  return files::NewFile::Create(place.folder, place.name,
                                {entry.size(), entry.mode(), entry.modified_ns()});
}

void TargetFolder::RemoveBytecode(const v1::FileEntry& entry) {
  if (!entry.path().ends_with(kPythonSource)) return;
  const auto place = Find(entry.path());
  if (!place.ok()) return;
  const base::UniqueFd compiled = files::OpenFolderIn(place->folder, "__pycache__");
  if (!compiled.valid()) return;
  // "train.cpython-311.pyc" of "train.py".
  const std::string begin = place->name.substr(0, place->name.size() - kPythonSource.size()) + ".";
  for (const std::string& name : base::EntriesOf(compiled.get())) {
    if (name.starts_with(begin)) unlinkat(compiled.get(), name.c_str(), 0);
  }
}

void TargetFolder::Remember(const std::vector<v1::FileEntry>& entries) {
  for (const v1::FileEntry& entry : entries) {
    const auto place = Find(entry.path());
    struct stat info {};
    const bool same =
        entry.type() == v1::FILE_TYPE_REGULAR && place.ok() &&
        fstatat(place->folder, place->name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) == entry.size() &&
        files::ModifiedNs(info) == entry.modified_ns();
    if (same) record_.Add(entry, info);
  }
  record_.Save(root_.get());
}

}  // namespace autodist::agent
