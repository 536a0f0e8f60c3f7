#include "agent/sync/safe_walk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <deque>
#include <string_view>
#include <utility>

#include "base/split.h"

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

}  // namespace

Result<ReachedFolder> ReachFolder(const std::string& path) { return SafeWalk(path).Go(); }

}  // namespace autodist::agent
