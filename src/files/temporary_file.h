// Temporary files in the user's folders, and the removal of those that a killed process has left.
#pragma once

#include <string>
#include <string_view>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::files {

// A name that nobody can guess and no file has: ".autodist-sync-" and 128 random bits.
std::string NewTemporaryName();
bool IsTemporaryName(std::string_view name);
// Whether there is one of this name, by which a folder is known to be the same elsewhere.
bool HasTemporary(const std::string& folder, const std::string& name);

// Removed with its object, unless it was given a name to stay. Not thread-safe.
class TemporaryFile {
 public:
  // In `folder`, which must stay open; for us alone, open for writing, and locked, so that
  // RemoveLeftovers can tell it from one whose process was killed.
  static Result<TemporaryFile> Create(int folder);

  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();

  int fd() const { return fd_.get(); }
  const std::string& name() const { return name_; }

  // Takes the place of what has the name in the same folder, at once.
  Status Keep(const std::string& name);

 private:
  TemporaryFile(int folder, base::UniqueFd fd, std::string name)
      : folder_(folder), fd_(std::move(fd)), name_(std::move(name)) {}

  int folder_;
  base::UniqueFd fd_;
  std::string name_;  // empty: nothing to remove
};

// Removes temporary files that no process holds any more from a folder that is open for reading.
void RemoveLeftovers(int folder);

}  // namespace autodist::files
