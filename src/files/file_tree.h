// What a folder holds, apart from what its ignore files leave out.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/status.h"

namespace autodist::files {

enum class FileType { kRegular, kFolder, kSymlink };

struct FileEntry {
  std::string path;  // within the folder: "a/b"
  FileType type = FileType::kRegular;
  uint32_t mode = 0;        // permissions, without set-user-ID and the like
  uint64_t size = 0;        // of a regular file
  int64_t modified_ns = 0;  // of a regular file, since 1970
  std::string link_target;  // of a symbolic link
};

// What .gitignore leaves out: files and folders, not what is in the latter. Not counted is what
// programs make anew, such as __pycache__.
struct Ignored {
  uint64_t files = 0;
  uint64_t folders = 0;
  uint64_t bytes = 0;                 // of the files
  std::vector<std::string> examples;  // the first ones, folders with a '/' behind
};

struct FileTree {
  std::string folder;
  uint32_t mode = 0700;               // of the folder itself, as of one within it
  std::vector<FileEntry> entries;     // each folder before what is in it; otherwise by name
  std::vector<std::string> warnings;  // of what cannot be copied, such as sockets
  uint64_t files = 0;                 // regular ones
  uint64_t bytes = 0;
  Ignored ignored;
};

// Left out are what .gitignore and .autodistignore in the folder or below it say, but for what git
// tracks in spite of .gitignore; .git, folders named autodist-runs, temporary files of our own, and
// the path `left_out` within the folder ("": none). Symbolic links are entries themselves and not
// followed. What cannot be read is an error that names all of it. Blocks while it reads.
Result<FileTree> ScanFolder(const std::string& folder, const std::string& left_out);

// Time of modification, since 1970.
int64_t ModifiedNs(const struct stat& info);

}  // namespace autodist::files
