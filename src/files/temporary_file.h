// Temporary files in the user's folders, and the removal of those that a killed process has left.
#pragma once

#include <string>
#include <string_view>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::files {

// Returns an unpredictable, unused name: ".autodist-sync-" and 128 random bits.
std::string NewTemporaryName();
bool IsTemporaryName(std::string_view name);
// Whether the folder has the file of this name, which shows that it is the same folder elsewhere.
bool HasTemporary(const std::string& folder, const std::string& name);

// Removed by the destructor, unless Keep has renamed it. Not thread-safe.
class TemporaryFile {
 public:
  // Creates a file in `folder`, which must stay open. It has mode 0600, is open for writing, and
  // locked, which distinguishes it for RemoveLeftovers from a file of a killed process.
  static Result<TemporaryFile> Create(int folder);

  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();

  int fd() const { return fd_.get(); }
  const std::string& name() const { return name_; }

  // Atomically replaces the file of that name in the same folder.
  Status Keep(const std::string& name);

 private:
  TemporaryFile(int folder, base::UniqueFd fd, std::string name)
      : folder_(folder), fd_(std::move(fd)), name_(std::move(name)) {}

  int folder_;
  base::UniqueFd fd_;
  std::string name_;  // empty: no file to remove
};

// Removes temporary files that no process has locked from a folder that is open for reading.
void RemoveLeftovers(int folder);

}  // namespace autodist::files
