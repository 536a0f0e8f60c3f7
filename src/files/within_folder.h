// What others call by a path within a folder, opened and written so that nothing outside of it is
// touched: no path leads up or through a symbolic link, and a file has its old content or its new
// one, never a part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "autodist/status.h"
#include "base/fd.h"
#include "files/temporary_file.h"

namespace autodist::files {

inline constexpr uint32_t kPermissions = 0777;

// Whether it is "a" or "a/b/c", and leads neither up nor to where it stands.
Status CheckPathWithin(const std::string& path);

// What is in the open folder under this name; where it is no folder, or no regular file, it is not
// valid, and errno tells why.
base::UniqueFd OpenFolderIn(int folder, const std::string& name);
base::UniqueFd OpenFileIn(int folder, const std::string& name);

// As futimens: -1, and errno.
int SetModified(int fd, int64_t modified_ns);

struct FileAttributes {
  uint64_t size = 0;
  uint32_t mode = 0;  // of which kPermissions count
  int64_t modified_ns = 0;
};

// The new content of a file, beside it until it is complete. Not thread-safe; blocks.
class NewFile {
 public:
  // `name` will be in `folder`, which is open, and need not stay so.
  static Result<NewFile> Create(int folder, const std::string& name,
                                const FileAttributes& attributes);

  Status Write(std::string_view data);
  // The file has the new content from here on, or still the old one if this fails.
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
