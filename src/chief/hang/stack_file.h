// What all ranks are doing, in a file of the log folder.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "autodist/v1/agent.pb.h"

namespace autodist::chief {

// For one thread, which it does not block.
class StackFile {
 public:
  // Runs the task, which may wait for a disk; one after another.
  using InBackground = std::function<void(std::function<void()> task)>;

  // Makes FOLDER/stacks-TIME.txt. `nodes` are those that were asked.
  StackFile(const std::string& folder, std::set<uint32_t> nodes, InBackground in_background);

  // Adds what a node tells, of `whose`: "rank 3 on node2"; of nodes that were not asked, nothing.
  void Add(uint32_t node, const std::string& whose, const v1::RankStacks& stacks);
  void NodeIsGone(uint32_t node) { missing_.erase(node); }
  bool complete() const { return missing_.empty(); }

  // Calls `tell` when all is written, with where it is or, as an error, why it is not; in the
  // background.
  using Tell = std::function<void(bool written, std::string text)>;
  void Finish(Tell tell);

 private:
  class File;

  const std::shared_ptr<File> file_;  // the background's
  const InBackground in_background_;
  std::set<uint32_t> missing_;
};

}  // namespace autodist::chief
