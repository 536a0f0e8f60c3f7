// The log folder of a job, which is kept open: what is written goes into that folder even if
// another user, where --log-dir is a place for many, puts something else under its name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::base {

// Copies share the folder. Thread-safe; all calls but path() and Within() block on the file system.
class LogFolder {
 public:
  // Opens nothing yet. Implicit: a path is all that there is to a log folder.
  LogFolder(std::string path = "");  // NOLINT(google-explicit-constructor)
  LogFolder(const char* path) : LogFolder(std::string(path)) {}  // NOLINT

  const std::string& path() const;
  // A folder in it, which is made for this user alone, too.
  LogFolder Within(const std::string& name) const;

  // The folder, for as long as there is a copy of this. The first call makes it where it is
  // missing, for this user alone, and the folders above it as usual. Refuses a link, and a folder
  // of another user.
  Result<int> Open() const;

  // Opens a file in it, not through a link; one that is made is for this user alone.
  Result<UniqueFd> OpenFile(const std::string& name, int flags) const;

  // Removes it with all that is in it, and the folders above it that this made and that have
  // nothing else in them. Follows no link. kNotFound: it is not there.
  Status Remove() const;

  // Replaces a file in it with another, which is there whole or not at all; for this user alone.
  Status WriteFile(const std::string& name, std::string_view content) const;

 private:
  struct Shared;
  explicit LogFolder(std::shared_ptr<Shared> here) : here_(std::move(here)) {}
  std::shared_ptr<Shared> here_;
};

}  // namespace autodist::base
