// Ends and removes what jobs have left on nodes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "transport/transport.h"

namespace autodist::chief {

// Per node, including the login. An agent that ends a job waits for its ranks.
inline constexpr std::chrono::seconds kCleanLimit{90};

// The result for one job on one node.
struct CleanedJob {
  enum class What {
    kEnded,    // its agent had lost its autodist; it and its ranks were ended
    kInUse,    // its autodist is running; nothing was done
    kRemoved,  // only a folder was left
    kLeft,     // a folder is left, but no agent program that could check it
  };
  What what;
  std::string job;  // "20261120-173000-3fa9c1.2": the job and its node's number

  bool operator==(const CleanedJob&) const = default;
};

struct CleanedNode {
  bool has_agent = false;  // without the agent's program, no job has run there
  std::vector<CleanedJob> jobs;
};

// The connection to one of the nodes, by its number. Called from several threads.
struct NodeToClean {
  std::unique_ptr<transport::Transport> transport;
  std::string agent;                  // the program's path there; "": to be searched for
  std::vector<std::string> versions;  // to search for: NodeProgram::Versions()
};
using ReachToClean = std::function<Result<NodeToClean>(size_t node)>;

// Returns one answer for each node below `nodes`; asks many nodes at the same time. Blocks for up
// to `limit` for each batch.
std::vector<Result<CleanedNode>> CleanNodes(size_t nodes, const ReachToClean& reach,
                                            std::chrono::milliseconds limit = kCleanLimit);

// Reads the answer of the command with this nonce; skips output of the login shell before it.
// kNotFound while it is incomplete.
Result<CleanedNode> ReadCleaned(std::string_view output, const std::string& nonce);

}  // namespace autodist::chief
