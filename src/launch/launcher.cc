#include "launch/launcher.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/wall_clock.h"
#include "launch/bootstrap.h"
#include "launch/grpc_link.h"
#include "reach/busy_servers.h"
#include "rpc/bootstrap_lines.h"
#include "rpc/call_lines.h"
#include "transport/ssh_loop.h"

namespace autodist::launch {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

// The agent gives up on the node's activation sooner.
constexpr std::chrono::seconds kPrepareLimit{90};
// For one attempt to connect again: it may be the first packet after a cut that was lost.
constexpr uint32_t kReconnectLimitMs = 3'000;

class PlanLauncher final : public Launcher {
 public:
  PlanLauncher(const v1::LaunchPlan& plan, LaunchOptions options, NodeProgram agent,
               std::string agent_here, std::unique_ptr<transport::SshLoop> loop)
      : plan_(plan),
        options_(std::move(options)),
        agent_(std::move(agent)),
        agent_here_(std::move(agent_here)),
        loop_(std::move(loop)) {}
  ~PlanLauncher() override { PlanLauncher::Stop(); }

  void Start(const Done& done) override;
  void Resume(uint32_t node_rank, milliseconds wait, Deadline deadline,
              std::shared_ptr<NodeLink> broken, Done done) override;
  void Reach(uint32_t node_rank, Deadline deadline, Done done) override;
  void GiveUp(uint32_t node_rank) override;
  void Prepare(uint32_t node_rank, v1::PrepareRequest request, std::shared_ptr<NodeLink> link,
               Done done) override;
  void Cancel() override;
  void Stop() override;

 private:
  LaunchedNode Launch(const v1::NodePlan& node);
  void PrepareNode(v1::PrepareRequest request, LaunchedNode& launched, const std::stop_token& stop);
  // Tries for as long as the failures are such as may pass, until the limit.
  Result<std::shared_ptr<NodeLink>> LinkTo(const v1::NodePlan& node, bool resume,
                                           const std::function<Deadline()>& limit,
                                           const std::stop_token& stop,
                                           bool (*may_pass)(StatusCode failure));
  LaunchedNode LinkAgain(uint32_t node_rank, bool resume, Deadline deadline,
                         const std::stop_token& stop);
  Result<std::shared_ptr<NodeLink>> TryToReach(transport::Transport& transport,
                                               const v1::NodePlan& node, bool resume,
                                               const std::stop_token& stop);
  Result<std::shared_ptr<NodeLink>> RunAgent(transport::Transport& transport,
                                             const AgentSession& session,
                                             const AgentCommand& command,
                                             const std::stop_token& stop);

  void Enter(uint32_t node_rank, LaunchProgress::Step step) const {
    if (options_.progress) options_.progress->Enter(node_rank, step);
  }

  const v1::LaunchPlan& plan_;
  const LaunchOptions options_;
  const NodeProgram agent_;
  const std::string agent_here_;
  const std::unique_ptr<transport::SshLoop> loop_;  // the connections' thread
  std::stop_source stop_;
  reach::BusyServers busy_servers_;
  // Last: they use the rest.
  std::vector<std::jthread> threads_;
  std::map<uint32_t, std::jthread> node_threads_;  // by node rank
};

void PlanLauncher::Cancel() {
  stop_.request_stop();
  for (auto& [node, thread] : node_threads_) thread.request_stop();
}

void PlanLauncher::GiveUp(uint32_t node_rank) {
  const auto thread = node_threads_.find(node_rank);
  if (thread != node_threads_.end()) thread->second.request_stop();
}

void PlanLauncher::Stop() {
  Cancel();
  threads_.clear();
  node_threads_.clear();
}

void PlanLauncher::Start(const Done& done) {
  const auto count = static_cast<uint32_t>(plan_.nodes_size());
  const auto next = std::make_shared<std::atomic<uint32_t>>(0);
  // The first node's may wait for the others.
  const uint32_t waiting = options_.sync && options_.sync->relays() ? 1 : 0;
  for (uint32_t i = 0; i < std::min(count, options_.fan_out + waiting); ++i) {
    threads_.emplace_back([this, next, count, done] {
      for (uint32_t node = (*next)++; node < count; node = (*next)++) {
        done(Launch(plan_.nodes(static_cast<int>(node))));
      }
    });
  }
}

LaunchedNode PlanLauncher::Launch(const v1::NodePlan& node) {
  LaunchedNode launched{node.node_rank(), OkStatus(), nullptr, {}};
  FolderSync* sync = node.reach().has_local() ? nullptr : options_.sync.get();
  auto link = LinkTo(
      node, false, [this] { return busy_servers_.limit(); }, stop_.get_token(), reach::IsBusy);
  if (!link.ok()) {
    if (sync) sync->Skip(node.node_rank());
    launched.status = link.status();
    return launched;
  }
  launched.link = std::move(*link);
  if (sync) {
    Enter(node.node_rank(), LaunchProgress::Step::kSyncing);
    launched.status = Annotate(launched.link->Sync(*sync, node.node_rank(), stop_.get_token()),
                               "copying the working directory");
    if (!launched.status.ok()) return launched;
  }
  v1::PrepareRequest request;
  *request.mutable_node() = node;
  *request.mutable_environment() = plan_.environment();
  if (options_.examination) *request.mutable_examination() = *options_.examination;
  if (options_.pmix) *request.mutable_pmix() = *options_.pmix;
  PrepareNode(std::move(request), launched, stop_.get_token());
  return launched;
}

void PlanLauncher::PrepareNode(v1::PrepareRequest request, LaunchedNode& launched,
                               const std::stop_token& stop) {
  Enter(launched.node_rank, LaunchProgress::Step::kPreparing);
  request.set_working_directory(plan_.working_directory());
  request.set_spool_limit(options_.spool_limit);
  request.set_stop_signal(static_cast<uint32_t>(options_.stop_signal));
  request.set_sample_ms(static_cast<uint32_t>(options_.sample.count()));
  auto prepared = launched.link->Prepare(request, Deadline::After(kPrepareLimit), stop);
  if (prepared.ok()) {
    launched.prepared = std::move(*prepared);
    launched.clock_offset_ns = launched.prepared.facts().time_ns() - base::NanosecondsSince1970();
  } else {
    launched.status = Annotate(prepared.status(), "preparing the node");
  }
}

Result<std::shared_ptr<NodeLink>> PlanLauncher::LinkTo(const v1::NodePlan& node, bool resume,
                                                       const std::function<Deadline()>& limit,
                                                       const std::stop_token& stop,
                                                       bool (*may_pass)(StatusCode failure)) {
  AD_ASSIGN_OR_RETURN(const auto transport, options_.logins->TransportTo(node.reach(), *loop_));
  std::shared_ptr<NodeLink> link;
  const auto log_in = [&]() -> Status {
    AD_ASSIGN_OR_RETURN(link, TryToReach(*transport, node, resume, stop));
    return OkStatus();
  };
  AD_RETURN_IF_ERROR(reach::TryToLogIn(log_in, may_pass, limit, stop));
  return link;
}

LaunchedNode PlanLauncher::LinkAgain(uint32_t node_rank, bool resume, Deadline deadline,
                                     const std::stop_token& stop) {
  v1::NodePlan node = plan_.nodes(static_cast<int>(node_rank));
  if (node.reach().has_ssh()) {
    v1::SshReach& ssh = *node.mutable_reach()->mutable_ssh();
    ssh.set_connect_limit_ms(std::min(ssh.connect_limit_ms(), kReconnectLimitMs));
  } else if (node.reach().has_called()) {
    v1::CalledReach& called = *node.mutable_reach()->mutable_called();
    called.set_limit_ms(std::min(called.limit_ms(), kReconnectLimitMs));
    if (called.has_step()) called.mutable_step()->set_anew(!resume);
  }
  auto link = LinkTo(
      node, resume, [deadline] { return deadline; }, stop,
      [](StatusCode failure) { return failure != StatusCode::kAborted; });
  return {node_rank, link.status(), link.ok() ? *std::move(link) : nullptr, {}};
}

void PlanLauncher::Resume(uint32_t node_rank, milliseconds wait, Deadline deadline,
                          std::shared_ptr<NodeLink> broken, Done done) {
  node_threads_[node_rank] =
      std::jthread([this, node_rank, wait, deadline, broken = std::move(broken),
                    done = std::move(done)](const std::stop_token& stop) mutable {
        broken.reset();
        if (wait.count() > 0) reach::WaitBeforeRetry(wait, deadline, stop);
        done(LinkAgain(node_rank, true, deadline, stop));
      });
}

void PlanLauncher::Reach(uint32_t node_rank, Deadline deadline, Done done) {
  node_threads_[node_rank] = std::jthread(
      [this, node_rank, deadline, done = std::move(done)](const std::stop_token& stop) {
        done(LinkAgain(node_rank, false, deadline, stop));
      });
}

void PlanLauncher::Prepare(uint32_t node_rank, v1::PrepareRequest request,
                           std::shared_ptr<NodeLink> link, Done done) {
  node_threads_[node_rank] =
      std::jthread([this, node_rank, request = std::move(request), link = std::move(link),
                    done = std::move(done)](const std::stop_token& stop) mutable {
        LaunchedNode launched{node_rank, OkStatus(), std::move(link), {}};
        PrepareNode(std::move(request), launched, stop);
        done(std::move(launched));
      });
}

Result<std::shared_ptr<NodeLink>> PlanLauncher::TryToReach(transport::Transport& transport,
                                                           const v1::NodePlan& node, bool resume,
                                                           const std::stop_token& stop) {
  const AgentSession session{plan_.job_id(),
                             node.node_rank(),
                             options_.lease,
                             options_.grace,
                             base::RandomHex(),
                             options_.greeting ? options_.greeting(node.node_rank())
                                               : std::string(rpc::kGreetingSize, '-'),
                             resume};
  const bool local = node.reach().has_local();
  const bool there = local || node.reach().has_called();
  auto link = RunAgent(transport, session,
                       there ? AgentCommandAt(local ? agent_here_ : rpc::kOwnProgram, session)
                             : InstallingAgentCommand(agent_, session),
                       stop);
  if (link.ok() || link.status().code() == StatusCode::kNotFound) busy_servers_.GotIn();
  return link;
}

Result<std::shared_ptr<NodeLink>> PlanLauncher::RunAgent(transport::Transport& transport,
                                                         const AgentSession& session,
                                                         const AgentCommand& command,
                                                         const std::stop_token& stop) {
  Enter(session.node_rank, LaunchProgress::Step::kConnecting);
  AD_ASSIGN_OR_RETURN(std::unique_ptr<transport::Stream> stream, transport.Run(command.argv, stop));
  Enter(session.node_rank, LaunchProgress::Step::kStartingAgent);
  const auto sent = [&](uint64_t bytes, uint64_t of) {
    if (options_.progress) options_.progress->SendingAgent(session.node_rank, bytes, of);
  };
  AD_ASSIGN_OR_RETURN(base::UniqueFd socket,
                      AwaitAgent(*stream, agent_, session, command, stop, sent));
  base::UniqueFd line(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  AD_ASSIGN_OR_RETURN(auto channel, rpc::ChannelToAgent(std::move(socket)));
  return std::make_shared<GrpcLink>(std::move(stream), std::move(channel), std::move(line));
}

}  // namespace

Result<std::unique_ptr<Launcher>> Launcher::Create(const v1::LaunchPlan& plan,
                                                   LaunchOptions options) {
  AD_ASSIGN_OR_RETURN(NodeProgram agent, NodeProgram::OfAgent(options.agent_path));
  std::string here;
  if (std::ranges::any_of(plan.nodes(),
                          [](const auto& node) { return node.reach().has_local(); })) {
    AD_ASSIGN_OR_RETURN(here, agent.PathHere());
  }
  AD_ASSIGN_OR_RETURN(auto loop, transport::SshLoop::Create());
  return std::make_unique<PlanLauncher>(plan, std::move(options), std::move(agent), std::move(here),
                                        std::move(loop));
}

}  // namespace autodist::launch
