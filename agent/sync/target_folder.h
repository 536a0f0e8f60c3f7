// A folder on this node that is updated to match the chief's. Never touches anything outside of it:
// no path leads up or through a symbolic link. Deletes nothing but compiled Python; a file has its
// old content or its new one, never a part.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "agent/sync/sync_record.h"
#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "base/fd.h"
#include "files/temporary_file.h"

namespace autodist::agent {

struct ReachedFolder {
  base::UniqueFd fd;  // O_PATH
  bool made = false;  // whether it was created; then with mode 0700
};

// Opens a folder safely on a machine where other users may have created parts of the path. Walks
// the absolute path from /, and creates missing folders. Follows symbolic links. Like the
// kernel's protected_symlinks, but also for folders: in a world-writable sticky folder, such as
// /tmp, only enters or follows entries that belong to this user, to root or to the owner of that
// folder; otherwise kPermissionDenied. Blocks on the file system.
Result<ReachedFolder> ReachFolder(const std::string& path);

// Returns the hint of a failure to write to a folder, from the errno value if it has none; "": the
// cause is another.
std::string WriteRemedy(const Status& failure);

// Not thread-safe; all calls block on the file system.
class TargetFolder {
 public:
  // `path` is absolute; it may contain symbolic links, but not entries of other users in shared
  // folders (ReachFolder). Creates it with missing parents and these permissions,
  // without write permission for others.
  static Result<TargetFolder> Open(const std::string& path, uint32_t mode);

  int fd() const { return root_.get(); }
  // Whether all users can write in it, and so make this user run programs.
  bool everyone_writes() const { return everyone_writes_; }

  // The result of comparing a regular file with the chief's. kSuspect: it has the same size, but
  // another time, or is not known to be a copy of the chief's.
  enum class Match { kSame, kSuspect, kDifferent };

  // Creates or updates folders and symbolic links, and the permissions of equal files.
  Result<Match> Settle(const v1::FileEntry& entry);

  // Returns the digest of a file's content; kCancelled if `go_on` returns false.
  Result<std::string> Digest(const v1::FileEntry& entry, const std::function<bool()>& go_on);

  // Sets the chief's time and permissions on a file with the right content; ignores a lack of
  // permission.
  void TakeOverTime(const v1::FileEntry& entry);

  // Opens a file for reading if it has the size of the chief's; otherwise invalid.
  base::UniqueFd OpenSame(const v1::FileEntry& entry);

  // Creates the new content of a file, which replaces it when it is complete.
  Result<files::NewFile> Create(const v1::FileEntry& entry);
  // Removes what Python compiled from a source that was replaced: it counts as current if the size
  // and the second of the time are the same.
  void RemoveBytecode(const v1::FileEntry& entry);

  // Records for the next --sync which files are copies of the chief's, by size and time.
  void Remember(const std::vector<v1::FileEntry>& entries);

 private:
  struct Place {
    int folder;  // valid until the next call of Find
    std::string name;
  };

  TargetFolder(base::UniqueFd root, bool everyone_writes)
      : root_(std::move(root)),
        everyone_writes_(everyone_writes),
        record_(SyncRecord::Read(root_.get())) {}
  Result<Place> Find(const std::string& path);
  Status MakeFolder(const Place& place, uint32_t mode);
  Status MakeSymlink(const Place& place, const std::string& target);

  base::UniqueFd root_;
  bool everyone_writes_;
  SyncRecord record_;
  // The last folder, because most entries are in the same folder as the previous one.
  std::string found_path_;
  base::UniqueFd found_;
};

}  // namespace autodist::agent
