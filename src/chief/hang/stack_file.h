// Writes stacks of all ranks, and PyTorch's flight records, to files of the log folder.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "base/log_folder.h"
#include "chief/loop/loop.h"

namespace autodist::chief {

// Used on the loop's thread, which it does not block.
class StackFile {
 public:
  // Limits the flight records of a collection; further ones are omitted.
  static constexpr size_t kMaxRecords = 1 << 30;  // bytes

  // Creates FOLDER/stacks-TIME.txt. `nodes` are the nodes that were asked.
  StackFile(base::LogFolder folder, std::set<uint32_t> nodes, Loop& loop);

  // Adds the stacks of `whose`, such as "rank 3 on node2", and writes the flight record to
  // FOLDER/flight-recorder/rank-3, as a new pickle of plain data, because other programs execute
  // pickles. A record with anything else is not written, and the text says so. Returns false and
  // ignores them if the node was not asked, or has sent them before.
  bool Add(uint32_t node, const std::string& whose, const v1::RankStacks& stacks);
  void NodeIsGone(uint32_t node) { missing_.erase(node); }
  bool complete() const { return missing_.empty(); }
  const std::string& path() const { return path_; }  // absolute

  // Calls `finished` when all is written, or with the error; in the background.
  void Finish(std::function<void(const Status& written)> finished);

 private:
  void Append(std::string text);
  void WriteRecord(const v1::RankStacks& stacks);

  const base::LogFolder folder_;
  const std::string name_;
  const std::string path_;
  std::set<uint32_t> missing_;
  std::set<std::pair<uint32_t, uint32_t>> reported_;  // nodes and ranks
  size_t records_ = 0;                                // bytes
  Loop& loop_;
  const std::shared_ptr<Status> written_ = std::make_shared<Status>();  // used in the background
};

}  // namespace autodist::chief
