// What --sync copies of a program's files, and which links lead out of the copied folder.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "files/file_tree.h"

namespace autodist::chief {

struct SyncedFiles {
  std::set<std::string> not_copied;              // of the program's files
  std::map<std::string, std::string> leads_out;  // those that are reached by a link: where they are
  // Others that lead out, a bounded number, and their targets: absolute, or "../data".
  std::map<std::string, std::string> links;
};

// `tree`: what is copied. `files`: the program's, as its command line has them. Omits files and
// links that lead nowhere on this machine. Blocks on the disk.
SyncedFiles CompareWithSync(const files::FileTree& tree, const std::vector<std::string>& files);

}  // namespace autodist::chief
