// Ends what jobs have left on nodes.
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

// Per node, login and all. An agent that ends a job waits for its ranks.
inline constexpr std::chrono::seconds kCleanLimit{90};

// What was found of one job on one node.
struct CleanedJob {
  enum class What {
    kEnded,    // its agent had no autodist any more; it and its ranks have been ended
    kInUse,    // its autodist is in charge; nothing was done
    kRemoved,  // nothing but a folder was left
    kLeft,     // a folder, and no agent program to look after it
  };
  What what;
  std::string job;  // "20261120-173000-3fa9c1.2": the job and the number of its node

  bool operator==(const CleanedJob&) const = default;
};

struct CleanedNode {
  bool has_agent = false;  // without the agent's program, no job has ever run there
  std::vector<CleanedJob> jobs;
};

// The way to one of the nodes, by its number. Called from several threads.
struct NodeToClean {
  std::unique_ptr<transport::Transport> transport;
  std::string agent;                  // the path of its program there; "": it is looked for
  std::vector<std::string> versions;  // then: NodeProgram::Versions()
};
using ReachToClean = std::function<Result<NodeToClean>(size_t node)>;

// One answer for each of the numbers below `nodes`, from many of them at the same time. Blocks for
// up to `limit` for each batch.
std::vector<Result<CleanedNode>> CleanNodes(size_t nodes, const ReachToClean& reach,
                                            std::chrono::milliseconds limit = kCleanLimit);

// Finds the answer of the command with this nonce behind whatever a login shell wrote before it;
// kNotFound while it is not there whole.
Result<CleanedNode> ReadCleaned(std::string_view output, const std::string& nonce);

}  // namespace autodist::chief
