// Reaches every node of a plan, all at the same time, and makes it ready. Starts no rank.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "chief/bootstrap.h"
#include "chief/folder_sync.h"
#include "chief/logins.h"
#include "chief/node_link.h"
#include "transport/ssh_loop.h"

namespace autodist::chief {

struct LaunchOptions {
  std::string agent_path;  // autodist-agent on this machine
  std::shared_ptr<Logins> logins;
  std::chrono::milliseconds lease;
  std::chrono::milliseconds grace;
  uint32_t fan_out;                            // nodes that are being reached at the same time
  std::optional<v1::Examination> examination;  // what to look at on every node
  // Of the working directory to the nodes reached by SSH; null: none.
  std::shared_ptr<FolderSync> sync;
};

// How one node turned out.
struct LaunchedNode {
  uint32_t node_rank;
  Status status;                   // whether the agent answered
  std::unique_ptr<NodeLink> link;  // null where it did not
  v1::PrepareResponse prepared;    // its problems, if any, keep the node from running ranks
  int64_t clock_offset_ns = 0;     // its clock less ours
};

// Owns the connections' thread; must outlive the links.
class Launcher {
 public:
  static Result<std::unique_ptr<Launcher>> Create(const v1::LaunchPlan& plan,
                                                  LaunchOptions options);
  // Gives up on nodes that are still being reached.
  ~Launcher();

  // Returns at once; `done` is called exactly once for each node, on threads of the launcher.
  void Start(const std::function<void(LaunchedNode node)>& done);
  // Nodes not yet reached turn out as cancelled.
  void Cancel() { stop_.request_stop(); }

 private:
  Launcher(const v1::LaunchPlan& plan, LaunchOptions options)
      : plan_(plan), options_(std::move(options)) {}
  LaunchedNode Launch(const v1::NodePlan& node);
  Result<std::unique_ptr<NodeLink>> Reach(const v1::NodePlan& node);
  Result<std::unique_ptr<NodeLink>> TryToReach(transport::Transport& transport,
                                               const v1::NodePlan& node);
  bool WaitBeforeRetry(int attempt);  // false: no more, or cancelled
  Result<std::unique_ptr<NodeLink>> RunAgent(transport::Transport& transport,
                                             const AgentSession& session,
                                             const AgentCommand& command);

  const v1::LaunchPlan& plan_;
  const LaunchOptions options_;
  AgentBinary agent_;
  std::unique_ptr<transport::SshLoop> loop_;
  std::stop_source stop_;
  std::vector<std::jthread> threads_;  // last: they use the rest
};

}  // namespace autodist::chief
