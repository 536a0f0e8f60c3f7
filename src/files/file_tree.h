// Lists the contents of a folder without the files that its ignore files exclude.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "files/file_patterns.h"

namespace autodist::files {

enum class FileType { kRegular, kFolder, kSymlink };

struct FileEntry {
  std::string path;  // relative to the folder: "a/b"
  FileType type = FileType::kRegular;
  uint32_t mode = 0;        // permissions, without set-user-ID and the like
  uint64_t size = 0;        // of a regular file
  int64_t modified_ns = 0;  // of a regular file, since 1970
  // Of a regular file: one of them changes with its content, even if its time is set back.
  int64_t changed_ns = 0;
  uint64_t inode = 0;
  // EndOf a regular file that was modified not long ago, and may be growing.
  std::optional<std::string> end;
  std::string link_target;  // of a symbolic link
};

// The files and folders that .gitignore excludes, without the contents of these folders. Build
// products such as __pycache__ are not counted.
struct Ignored {
  uint64_t files = 0;
  uint64_t folders = 0;
  uint64_t bytes = 0;                 // of the files
  std::vector<std::string> examples;  // the first ones; folders end with '/'
};

struct FileTree {
  std::string folder;
  uint32_t mode = 0700;               // of the folder itself
  std::vector<FileEntry> entries;     // each folder before its contents; otherwise by name
  std::vector<std::string> warnings;  // about what cannot be copied, such as sockets
  uint64_t files = 0;                 // number of regular files
  uint64_t bytes = 0;
  Ignored ignored;
  std::vector<IgnoreFiles> ignore_files;
  std::vector<std::string> left_out;  // paths: the given one, and the output of this process
};

// Excludes what .gitignore and .autodistignore in the folder or below say, except files that git
// tracks in spite of .gitignore; also what IsNeverCopied, the path `left_out` within the folder
// ("": none), and the files that are this process's stdout or stderr. Symbolic links are entries
// and are not followed. Fails if anything is unreadable, and names all of it. Blocks while it
// reads.
Result<FileTree> ScanFolder(const std::string& folder, const std::string& left_out);

// Whether --sync copies no entry of this name: .git, autodist's own files and Python's bytecode,
// which each machine makes from the sources.
bool IsNeverCopied(std::string_view name, bool is_folder);

// Returns the modification time, and that of the last change of content or attributes, since 1970.
int64_t ModifiedNs(const struct stat& info);
int64_t ChangedNs(const struct stat& info);

// Returns up to a few hundred of a file's bytes before the offset `size`; nullopt: unreadable.
std::optional<std::string> EndOf(int fd, uint64_t size);

}  // namespace autodist::files
