// The log folder of a job. It is kept open, so that files go into this folder even if another user
// replaces it under a --log-dir that several users share.
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
  // Opens nothing yet. Implicit conversion: a log folder is defined by its path alone.
  LogFolder(std::string path = "");  // NOLINT(google-explicit-constructor)
  LogFolder(const char* path) : LogFolder(std::string(path)) {}  // NOLINT

  const std::string& path() const;
  // Returns a subfolder, which is also created for this user only.
  LogFolder Within(const std::string& name) const;

  // Returns the open folder, which is shared. Creates the folder, if it is missing or was removed,
  // with mode 0700, and its parents with the usual mode; git ignores a parent that is called
  // autodist-runs. Fails if it is a link or belongs to another user.
  Result<std::shared_ptr<const UniqueFd>> Open() const;

  // Opens a file in the folder without following links; creates it for this user only.
  Result<UniqueFd> OpenFile(const std::string& name, int flags) const;

  // Removes the folder with its contents, and those parents that this object created and that are
  // empty. Follows no link. kNotFound: it does not exist.
  Status Remove() const;

  // Replaces a file in the folder atomically; the new file is readable by this user only.
  Status WriteFile(const std::string& name, std::string_view content) const;

 private:
  struct Shared;
  explicit LogFolder(std::shared_ptr<Shared> here) : here_(std::move(here)) {}
  std::shared_ptr<Shared> here_;
};

}  // namespace autodist::base
