// Simulates the agent's side of the protocol for thousands of nodes in another process, so that the
// chief's resource usage can be measured.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autodist/status.h"
#include "base/deadline.h"
#include "base/fd.h"

namespace autodist::scale {

// All calls block until the other process answers. Thread-safe.
class SimulatedNodes {
 public:
  // Starts the process, which listens at the path. Call before other threads start.
  static Result<std::unique_ptr<SimulatedNodes>> Start(const std::string& socket);
  // Ends the process.
  ~SimulatedNodes();

  // Acts as if argv, which starts an agent, was run on a node: returns the stream to it.
  Result<base::UniqueFd> Run(const std::vector<std::string>& argv);

  // Blocks until the ranks of this number of nodes have started, or Cancel is called.
  Status AwaitStarted(size_t nodes);
  void Cancel();
  // Makes a rank of the node exit with code 3; returns when it did.
  Result<base::Deadline::Clock::time_point> FailRankOf(uint32_t node);

 private:
  SimulatedNodes(pid_t pid, std::string socket, base::UniqueFd news)
      : pid_(pid), socket_(std::move(socket)), news_(std::move(news)) {}

  const pid_t pid_;
  const std::string socket_;   // where the process listens
  const base::UniqueFd news_;  // receives the rank of each node whose ranks have started or failed
};

}  // namespace autodist::scale
