// What `why` and `stacks` show on a terminal while nodes collect stacks.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"

namespace autodist::cli {

// "reading the stacks of 8 ranks on 2 nodes; ..."; "": no rank runs. Pure logic.
std::string ReadingStacksText(const v1::JobStatus& job);
// "waiting for the stacks of node2 and node3"; "": no node is awaited. Pure logic.
std::string AwaitedNodesText(const v1::AwaitedNodes& nodes);

// Logs immediately what is read, and after some seconds the nodes that have not answered, until it
// is destroyed. Does nothing unless stderr is a terminal and ranks run.
class StacksNotice {
 public:
  explicit StacksNotice(const v1::JobStatus& job);

 private:
  void Run(const std::string& job_id, const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::optional<std::jthread> thread_;  // the last member: uses the others
};

}  // namespace autodist::cli
