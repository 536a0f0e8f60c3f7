// Nodes of which there is nothing but the agent's side of the protocol, thousands of them in one
// process. It is not the chief's, so that what the chief takes can be told.
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

// All calls block for as long as the other process takes. Thread-safe.
class SimulatedNodes {
 public:
  // Starts the process, which listens at the path. Call it before there is another thread.
  static Result<std::unique_ptr<SimulatedNodes>> Start(const std::string& socket);
  // Ends it.
  ~SimulatedNodes();

  // As if argv, that starts an agent, was run on a node: the stream to it.
  Result<base::UniqueFd> Run(const std::vector<std::string>& argv);

  // Until the ranks of so many nodes have been started, or Cancel is called.
  Status AwaitStarted(size_t nodes);
  void Cancel();
  // Has a rank of the node exit with code 3; when it did.
  Result<base::Deadline::Clock::time_point> FailRankOf(uint32_t node);

 private:
  SimulatedNodes(pid_t pid, std::string socket, base::UniqueFd news)
      : pid_(pid), socket_(std::move(socket)), news_(std::move(news)) {}

  const pid_t pid_;
  const std::string socket_;   // where it listens
  const base::UniqueFd news_;  // a node rank, of one whose ranks have been started or failed
};

}  // namespace autodist::scale
