// Detects folders that are the same on several nodes without a chief on any of them: each node
// creates a mark file in the folder, and checks for those of others. Since all create their marks
// before they check, at least one of two nodes with the same folder sees the other's mark.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "autodist/v1/agent.pb.h"

namespace autodist::agent {

// A mark file, removed by the destructor.
class FolderMark {
 public:
  explicit FolderMark(std::string path) : path_(std::move(path)) {}
  FolderMark(FolderMark&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  FolderMark& operator=(FolderMark&&) = delete;
  ~FolderMark();

 private:
  std::string path_;  // empty: no file to remove
};

// Creates the marks, and reports which ones exist. Marks must remain until all nodes have checked.
// Blocks on the file system and, if a folder is not writable, for a while until the first node has
// created its mark.
std::vector<FolderMark> MarkFolders(const v1::ProbeRequest& probe, uint32_t node_rank,
                                    v1::NodeInfo& facts);

}  // namespace autodist::agent
