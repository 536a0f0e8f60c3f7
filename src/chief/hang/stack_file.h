// What all ranks are doing, in a file of the log folder.
#pragma once

#include <set>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "base/fd.h"

namespace autodist::chief {

// Not thread-safe; blocks on the disk.
class StackFile {
 public:
  // Makes FOLDER/stacks-TIME.txt. `nodes` are those that were asked.
  static Result<StackFile> Create(const std::string& folder, std::set<uint32_t> nodes);

  // Adds what a node tells, of `whose`: "rank 3 on node2"; of nodes that were not asked, nothing.
  void Add(uint32_t node, const std::string& whose, const v1::RankStacks& stacks);
  void NodeIsGone(uint32_t node) { missing_.erase(node); }
  bool complete() const { return missing_.empty(); }
  const std::string& path() const { return path_; }

 private:
  StackFile(std::string path, base::UniqueFd file, std::set<uint32_t> nodes)
      : path_(std::move(path)), file_(std::move(file)), missing_(std::move(nodes)) {}

  std::string path_;
  base::UniqueFd file_;
  std::set<uint32_t> missing_;
};

}  // namespace autodist::chief
