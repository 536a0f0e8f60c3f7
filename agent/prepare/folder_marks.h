// Whether folders are the same on several nodes, where their chief is on none of them: each node
// marks a folder by a file, and looks for those of others. As all mark before they look, of any two
// nodes with the same folder at least one sees the other's mark, whichever came first.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "autodist/v1/agent.pb.h"

namespace autodist::agent {

// A file of ours, removed with its object.
class FolderMark {
 public:
  explicit FolderMark(std::string path) : path_(std::move(path)) {}
  FolderMark(FolderMark&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  FolderMark& operator=(FolderMark&&) = delete;
  ~FolderMark();

 private:
  std::string path_;  // empty: nothing to remove
};

// Marks the folders and tells which marks are there. The marks have to stay until all nodes have
// looked. Blocks on the file system, and where nothing can be written, for a while until the first
// node has made its mark.
std::vector<FolderMark> MarkFolders(const v1::ProbeRequest& probe, uint32_t node_rank,
                                    v1::NodeInfo& facts);

}  // namespace autodist::agent
