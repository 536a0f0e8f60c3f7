// A folder on this node that is made like the chief's. Whatever the paths say, nothing outside of
// it is touched: no path leads up or through a symbolic link. Nothing is deleted, and a file has
// its old content or its new one, never a part.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "base/fd.h"
#include "files/within_folder.h"

namespace autodist::agent {

// Not thread-safe; all calls block on the file system.
class TargetFolder {
 public:
  // `path` is absolute; the way to the folder may lead through symbolic links, but not through
  // what others have put into folders for all (agent/sync/safe_walk.h). Made with its parents where
  // it is missing, with these permissions, but for those of others to write. kPermissionDenied: it
  // is there, and others can write in it.
  static Result<TargetFolder> Open(const std::string& path, uint32_t mode);

  // How a regular file compares with the chief's.
  enum class Match { kSame, kSuspect, kDifferent };  // kSuspect: by its time alone

  // Makes folders and symbolic links what they should be at once, and the permissions of files
  // that are the same.
  Result<Match> Settle(const v1::FileEntry& entry);

  // Of a file's content; kCancelled where `go_on` says no.
  Result<std::string> Digest(const v1::FileEntry& entry, const std::function<bool()>& go_on);

  // Gives a file whose content is right the chief's time and permissions. Where that is not
  // allowed, it stays as it is.
  void TakeOverTime(const v1::FileEntry& entry);

  // A file for reading, if it has the size of the chief's; else invalid.
  base::UniqueFd OpenSame(const v1::FileEntry& entry);

  // The new content of a file, which takes its place when it is complete.
  Result<files::NewFile> Create(const v1::FileEntry& entry);

 private:
  struct Place {
    int folder;  // valid until the next call of Find
    std::string name;
  };

  explicit TargetFolder(base::UniqueFd root) : root_(std::move(root)) {}
  Result<Place> Find(const std::string& path);
  Status MakeFolder(const Place& place, uint32_t mode);
  Status MakeSymlink(const Place& place, const std::string& target);

  base::UniqueFd root_;
  // The folder found last, as most entries are in the same one as the entry before.
  std::string found_path_;
  base::UniqueFd found_;
};

}  // namespace autodist::agent
