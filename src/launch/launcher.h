// Reaches every node of a plan, all at the same time, and makes it ready. Starts no rank.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "launch/bootstrap.h"
#include "launch/folder_sync.h"
#include "launch/node_link.h"
#include "reach/logins.h"
#include "transport/ssh_loop.h"

namespace autodist::launch {

struct LaunchOptions {
  std::string agent_path;  // autodist-agent on this machine
  std::shared_ptr<reach::Logins> logins;
  std::chrono::milliseconds lease;
  std::chrono::milliseconds grace;
  uint32_t fan_out;                            // nodes that are being reached at the same time
  std::optional<v1::Examination> examination;  // what to look at on every node
  std::optional<v1::PmixWorld> pmix;           // of the first attempt
  // Of the working directory to the nodes reached by SSH; null: none.
  std::shared_ptr<FolderSync> sync;
  uint64_t spool_limit = uint64_t{1} << 30;  // bytes per rank
  int stop_signal = 15;                      // SIGTERM
  // Of each node's agent (rpc/bootstrap_lines.h); null: any will do, as no agent is met twice.
  std::function<std::string(uint32_t node_rank)> greeting;
};

// How one node turned out.
struct LaunchedNode {
  uint32_t node_rank;
  Status status;                   // whether the agent answered
  std::shared_ptr<NodeLink> link;  // null where it did not
  v1::PrepareResponse prepared;    // its problems, if any, keep the node from running ranks
  int64_t clock_offset_ns = 0;     // its clock less ours
};

// Owns the connections' thread; must outlive the links. Not thread-safe but for Cancel; `done` is
// called on threads of the launcher. A node is worked on by one call at a time.
class Launcher {
 public:
  static Result<std::unique_ptr<Launcher>> Create(const v1::LaunchPlan& plan,
                                                  LaunchOptions options);
  // Gives up on nodes that are still being reached.
  ~Launcher();

  using Done = std::function<void(LaunchedNode node)>;

  // Returns at once; `done` is called exactly once for each node.
  void Start(const Done& done);

  // Connects again with the agent of a node whose connection, `broken`, broke, for as long as it
  // takes until the deadline. kAborted: that agent is gone.
  void Resume(uint32_t node_rank, base::Deadline deadline, std::shared_ptr<NodeLink> broken,
              Done done);
  // Connects with the agent of a node, starting one where there is none.
  void Reach(uint32_t node_rank, base::Deadline deadline, Done done);
  // Ends the Resume, Reach or Prepare that is under way for the node.
  void GiveUp(uint32_t node_rank);
  // Prepares a node for another attempt, in which it is `node`.
  void Prepare(uint32_t node_rank, v1::NodePlan node, std::optional<v1::PmixWorld> pmix,
               std::shared_ptr<NodeLink> link, Done done);

  // Nodes not yet reached turn out as cancelled.
  void Cancel();
  // Cancel, and waits until `done` will not be called any more.
  void Stop();

 private:
  Launcher(const v1::LaunchPlan& plan, LaunchOptions options)
      : plan_(plan), options_(std::move(options)) {}
  LaunchedNode Launch(const v1::NodePlan& node);
  void PrepareNode(const v1::NodePlan& node, const std::optional<v1::PmixWorld>& pmix,
                   LaunchedNode& launched, const std::stop_token& stop);
  Result<std::shared_ptr<NodeLink>> FirstLink(const v1::NodePlan& node);
  LaunchedNode LinkAgain(uint32_t node_rank, bool resume, base::Deadline deadline,
                         const std::stop_token& stop);
  Result<std::shared_ptr<NodeLink>> TryToReach(transport::Transport& transport,
                                               const v1::NodePlan& node, bool resume,
                                               const std::stop_token& stop);
  Result<std::shared_ptr<NodeLink>> RunAgent(transport::Transport& transport,
                                             const AgentSession& session,
                                             const AgentCommand& command,
                                             const std::stop_token& stop);

  const v1::LaunchPlan& plan_;
  const LaunchOptions options_;
  AgentBinary agent_;
  std::unique_ptr<transport::SshLoop> loop_;
  std::stop_source stop_;
  // Last: they use the rest.
  std::vector<std::jthread> threads_;
  std::map<uint32_t, std::jthread> node_threads_;  // by node rank
};

}  // namespace autodist::launch
