// What a folder on this node has, and the chief's folder does not.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/sync.pb.h"
#include "files/file_patterns.h"

namespace autodist::agent {

struct ExtraFiles {
  std::vector<std::string> files;    // paths of regular files and symbolic links
  std::vector<std::string> folders;  // each before those in it
  bool complete = true;              // false: the search ended at `limit` files
};

// `entries`: what the chief has. Leaves out what `rules` exclude, `left_out`, and what --sync never
// copies, and virtual environments. Follows no link and enters no mounted folder; skips what it
// cannot read. kCancelled if `go_on`, which is called often, returns false. Blocks while it reads.
Result<ExtraFiles> FindExtraFiles(int root, const std::vector<v1::FileEntry>& entries,
                                  const files::IgnoreTree& rules,
                                  const std::vector<std::string>& left_out, size_t limit,
                                  const std::function<bool()>& go_on);

// Deletes the files, and those of the folders that are empty then.
Status DeleteExtraFiles(int root, const ExtraFiles& extra);

// Whether a program may read the file when it starts, as modules and checkpoints.
bool MayBeReadAtStart(std::string_view path);

}  // namespace autodist::agent
