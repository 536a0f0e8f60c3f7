// Temporary files in the user's folders, the removal of those that a killed process has left, and
// files that are replaced at once, within a folder only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::files {

// Returns an unpredictable, unused name: ".autodist-sync-" and 128 random bits.
std::string NewTemporaryName();
bool IsTemporaryName(std::string_view name);
// The name of the record that --sync keeps in a folder on a node, of what was received.
inline constexpr char kSyncRecord[] = ".autodist-sync";
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

// Opens and writes files by a path that others name, without touching anything outside of a folder:
// no path leads up or through a symbolic link. A file has its old content or its new one, never a
// part.

inline constexpr uint32_t kPermissions = 0777;

// Whether it is "a" or "a/b/c", without "." and "..".
Status CheckPathWithin(const std::string& path);

// Opens the entry of this name in the open folder. The result is invalid, with errno, if it is not
// a folder, or not a regular file.
base::UniqueFd OpenFolderIn(int folder, const std::string& name);
base::UniqueFd OpenFileIn(int folder, const std::string& name);
// Opens a folder by its path within `root`; "": the root itself. Does not close or keep `root`.
base::UniqueFd OpenFolderWithin(int root, std::string_view path);

// Returns the time by the clock of the file server of an open folder, which new files get, since
// 1970; nullopt if no file can be made there.
std::optional<int64_t> MeasuredTimeOfFiles(int folder);
// The same, or the time of this machine.
int64_t TimeOfFilesNow(int folder);

// Like futimens: -1, and errno.
int SetModified(int fd, int64_t modified_ns);

struct FileAttributes {
  uint64_t size = 0;
  uint32_t mode = 0;  // masked with kPermissions
  int64_t modified_ns = 0;
};

// The new content of a file, beside it until it is complete. Not thread-safe; blocks.
class NewFile {
 public:
  // Creates the file for `name` in `folder`, which is open, and need not stay so.
  static Result<NewFile> Create(int folder, const std::string& name,
                                const FileAttributes& attributes);

  // A long piece of zeros becomes a hole.
  Status Write(std::string_view data);
  // Adds zeros without writing them.
  Status AddHole(uint64_t bytes);
  // Replaces the old file; if this fails, it still has the old content.
  Status Finish();

 private:
  NewFile(base::UniqueFd folder, std::string name, const FileAttributes& attributes,
          TemporaryFile file)
      : folder_(std::move(folder)),
        name_(std::move(name)),
        attributes_(attributes),
        file_(std::move(file)) {}

  base::UniqueFd folder_;
  std::string name_;
  FileAttributes attributes_;
  TemporaryFile file_;
  uint64_t size_ = 0;
};

}  // namespace autodist::files
