#include "launch/launcher.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/for_user.h"
#include "base/quantity.h"
#include "base/random.h"
#include "base/thread.h"
#include "base/wall_clock.h"
#include "launch/await_program.h"
#include "launch/grpc_link.h"
#include "launch/install_agent.h"
#include "launch/reconnector.h"
#include "reach/host_facts.h"
#include "reach/login_retry_budget.h"
#include "rpc/bootstrap_lines.h"
#include "rpc/callback_lines.h"
#include "ssh/ssh_loop.h"

namespace autodist::launch {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

// The limit for the ranks' environment: conda on a busy file system takes minutes. The agent's
// limit for the node's activation is shorter.
constexpr std::chrono::minutes kPrepareLimit{10};
// The limit for one reconnection attempt: its first packet after a network outage may have been
// lost.
constexpr uint32_t kReconnectLimitMs = 3'000;
// Reconnecting threads for each connecting one: after an outage many nodes may not answer, and the
// leases of those that do are running out.
constexpr size_t kReconnectingPerFanOut = 8;

class PlanLauncher final : public Launcher {
 public:
  PlanLauncher(const v1::LaunchPlan& plan, LaunchOptions options, transfer::NodeProgram agent,
               std::string agent_here, std::unique_ptr<ssh::SshLoop> loop,
               std::unique_ptr<Reconnector> reconnector)
      : plan_(plan),
        options_(std::move(options)),
        agent_(std::move(agent)),
        agent_here_(std::move(agent_here)),
        loop_(std::move(loop)),
        reconnector_(std::move(reconnector)) {}
  ~PlanLauncher() override { PlanLauncher::Stop(); }

  void Start(const Done& done) override;
  void Resume(uint32_t node_rank, milliseconds wait, Deadline deadline,
              std::shared_ptr<NodeLink> broken, Done done) override;
  void Reach(uint32_t node_rank, Deadline deadline, std::shared_ptr<NodeLink> broken,
             Done done) override;
  void GiveUp(uint32_t node_rank) override;
  Status LastFailure(uint32_t node_rank) const override {
    return reconnector_->LastFailure(node_rank);
  }
  void Prepare(uint32_t node_rank, v1::PrepareRequest request, std::shared_ptr<NodeLink> link,
               Done done) override;
  void Cancel() override;
  void Stop() override;

 private:
  LaunchedNode Launch(const v1::NodePlan& node);
  void CompleteRequest(v1::PrepareRequest& request) const;
  // `sent`: when the request was sent, on our clock.
  static void TakePrepared(Result<v1::PrepareResponse> prepared, int64_t sent,
                           LaunchedNode& launched);
  // `step`, also below: becomes CHECK_AGENT when the login shell has run.
  Result<std::shared_ptr<NodeLink>> LinkTo(const v1::NodePlan& node, v1::Check& step);
  // Retries while servers on the route are busy.
  Result<std::shared_ptr<NodeLink>> LinkOnce(const v1::NodePlan& node, v1::Check& step);
  void LinkAgain(uint32_t node_rank, AgentMode mode, milliseconds wait, Deadline deadline,
                 std::shared_ptr<NodeLink> broken, Done done);
  Result<std::shared_ptr<NodeLink>> TryToReach(transport::Transport& transport,
                                               const v1::NodePlan& node, AgentMode mode,
                                               const std::stop_token& stop, v1::Check* step);
  Result<std::shared_ptr<NodeLink>> RunAgent(transport::Transport& transport,
                                             const AgentSession& session,
                                             const AgentCommand& command,
                                             const std::stop_token& stop, v1::Check* step);

  milliseconds StartLimit(milliseconds otherwise) const {
    const v1::JobRequest& request = options_.request;
    return request.has_start_timeout() ? base::ToMilliseconds(request.start_timeout()) : otherwise;
  }
  Deadline PrepareDeadline() const { return Deadline::After(StartLimit(kPrepareLimit)); }
  std::string ScopeOf(uint32_t node_rank);

  void Enter(uint32_t node_rank, LaunchProgress::State state) const {
    if (options_.progress) options_.progress->Enter(node_rank, state);
  }

  const v1::LaunchPlan& plan_;
  const LaunchOptions options_;
  const transfer::NodeProgram agent_;
  const std::string agent_here_;
  const std::unique_ptr<ssh::SshLoop> loop_;  // runs the connections
  std::stop_source stop_;
  reach::LoginRetryBudget busy_servers_;
  std::mutex mutex_;
  std::condition_variable prepared_;
  // Guarded by mutex_.
  std::map<uint32_t, std::stop_source> preparing_;  // of nodes being prepared, by rank
  size_t prepare_calls_ = 0;                        // that have not returned
  std::map<uint32_t, std::string> scopes_;          // of the nodes' agents (AgentSession::scope)
  // Last: they use the members above.
  std::vector<std::jthread> threads_;
  const std::unique_ptr<Reconnector> reconnector_;
};

void PlanLauncher::Cancel() {
  stop_.request_stop();
  reconnector_->GiveUpAll();
  std::map<uint32_t, std::stop_source> preparing;
  {
    const std::lock_guard lock(mutex_);
    preparing = preparing_;
  }
  for (auto& [node, stop] : preparing) stop.request_stop();
}

void PlanLauncher::GiveUp(uint32_t node_rank) {
  reconnector_->GiveUp(node_rank);
  std::stop_source stop;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = preparing_.find(node_rank); found != preparing_.end()) {
      stop = found->second;
    }
  }
  stop.request_stop();
}

void PlanLauncher::Stop() {
  Cancel();
  threads_.clear();
  reconnector_->Stop();
  std::unique_lock lock(mutex_);
  prepared_.wait(lock, [this] { return prepare_calls_ == 0; });
}

void PlanLauncher::Start(const Done& done) {
  const auto count = static_cast<uint32_t>(plan_.nodes_size());
  const auto next = std::make_shared<std::atomic<uint32_t>>(0);
  // The first node's thread may wait for the others.
  const uint32_t waiting = options_.sync && options_.sync->relays() ? 1 : 0;
  const auto launch = [this, next, count, done] {
    for (uint32_t node = (*next)++; node < count; node = (*next)++) {
      done(Launch(plan_.nodes(static_cast<int>(node))));
    }
  };
  while (threads_.size() < std::min(count, options_.request.fan_out() + waiting)) {
    auto thread = base::StartThread(launch);
    if (thread.ok()) {
      threads_.push_back(*std::move(thread));
    } else if (threads_.size() > waiting) {
      return;  // existing threads handle all nodes
    } else {
      stop_.request_stop();
      for (uint32_t node = (*next)++; node < count; node = (*next)++) {
        done({node, thread.status(), nullptr, {}});
      }
      return;
    }
  }
}

LaunchedNode PlanLauncher::Launch(const v1::NodePlan& node) {
  LaunchedNode launched{node.node_rank(), OkStatus(), nullptr, {}};
  transfer::FolderSync* sync = node.reach().has_local() ? nullptr : options_.sync.get();
  auto link = LinkTo(node, launched.step);
  if (!link.ok()) {
    if (sync) sync->Skip(node.node_rank());
    launched.status = link.status();
    return launched;
  }
  launched.link = std::move(*link);
  if (sync) {
    Enter(node.node_rank(), LaunchProgress::State::kSyncing);
    launched.status = Annotate(launched.link->Sync(*sync, node.node_rank(), stop_.get_token()),
                               "copying the working directory");
    if (!launched.status.ok()) {
      launched.step = v1::CHECK_FILES;
      return launched;
    }
  }
  if (!options_.prepare) return launched;
  v1::PrepareRequest request;
  *request.mutable_node() = node;
  // Of several addresses, ranks use the one that answers, which the agent knows from sshd.
  const v1::SshReach& ssh = node.reach().ssh();
  if (node.ask_data_address() && ssh.other_addresses_size() > 0 && !ssh.has_container()) {
    request.mutable_node()->clear_data_address();
  }
  *request.mutable_environment() = plan_.environment();
  if (options_.probe) *request.mutable_probe() = *options_.probe;
  if (options_.pmix) *request.mutable_pmix() = *options_.pmix;
  if (options_.checkpoints) *request.mutable_checkpoints() = *options_.checkpoints;
  CompleteRequest(request);
  Enter(launched.node_rank, LaunchProgress::State::kPreparing);
  const int64_t sent = base::NanosecondsSince1970();
  TakePrepared(launched.link->Prepare(request, PrepareDeadline(), stop_.get_token()), sent,
               launched);
  return launched;
}

void PlanLauncher::CompleteRequest(v1::PrepareRequest& request) const {
  request.set_working_directory(plan_.working_directory());
  request.set_node_source(static_cast<v1::NodeSource>(base::CurrentNodeSource()));
  request.set_spool_limit(options_.request.output_buffer());
  request.set_stop_signal(options_.request.stop_signal());
  request.set_replaceable(options_.replaceable());
  const milliseconds sample = SampleInterval(options_.request, plan_.nodes_size());
  request.set_sample_ms(static_cast<uint32_t>(sample.count()));
  request.set_samples_wait(sample >= RenewalInterval(options_.lease(), plan_.nodes_size()));
}

void PlanLauncher::TakePrepared(Result<v1::PrepareResponse> prepared, int64_t sent,
                                LaunchedNode& launched) {
  launched.step = v1::CHECK_AGENT;
  if (prepared.ok()) {
    launched.prepared = std::move(*prepared);
    launched.clock_offset_ns =
        ClockOffset(launched.prepared.facts().time_ns(), sent, base::NanosecondsSince1970());
  } else {
    launched.status = Annotate(prepared.status(), "preparing the node");
  }
}

// Retries for as long as a node may be booting.
Result<std::shared_ptr<NodeLink>> PlanLauncher::LinkTo(const v1::NodePlan& node, v1::Check& step) {
  const milliseconds patience = base::ToMilliseconds(options_.request.wait_for_nodes());
  const Deadline up_by = Deadline::After(patience);
  for (base::Backoff backoff;;) {
    step = v1::CHECK_LOGIN;
    auto link = LinkOnce(node, step);
    // A node whose login shell has run is not booting.
    const bool wait = patience.count() > 0 && step == v1::CHECK_LOGIN;
    if (link.ok() || !wait || !reach::MayBeBooting(link.status().code())) return link;
    if (!reach::IsBusy(link.status().code())) {
      Enter(node.node_rank(), LaunchProgress::State::kBooting);
    }
    if (!reach::WaitBeforeRetry(backoff.Next(), up_by, stop_.get_token())) {
      return stop_.stop_requested()
                 ? link.status()
                 : Annotate(link.status(), "not reached within " + base::Seconds(patience) +
                                               " (--wait-for-nodes)");
    }
  }
}

Result<std::shared_ptr<NodeLink>> PlanLauncher::LinkOnce(const v1::NodePlan& node,
                                                         v1::Check& step) {
  AD_RETURN_IF_ERROR(reach::TakeFailure(node.reach()));
  AD_ASSIGN_OR_RETURN(const auto transport, options_.connector->TransportTo(node.reach(), *loop_));
  std::shared_ptr<NodeLink> link;
  const auto log_in = [&]() -> Status {
    auto reached = TryToReach(*transport, node, AgentMode::kStart, stop_.get_token(), &step);
    if (reach::IsBusy(reached.status().code())) {
      Enter(node.node_rank(), LaunchProgress::State::kLoginRefused);
    }
    AD_ASSIGN_OR_RETURN(link, std::move(reached));
    return OkStatus();
  };
  AD_RETURN_IF_ERROR(reach::TryToLogIn(
      log_in, reach::IsBusy, [this] { return busy_servers_.limit(); }, stop_.get_token()));
  return link;
}

void PlanLauncher::LinkAgain(uint32_t node_rank, AgentMode mode, milliseconds wait,
                             Deadline deadline, std::shared_ptr<NodeLink> broken, Done done) {
  v1::NodePlan node = plan_.nodes(static_cast<int>(node_rank));
  if (node.reach().has_ssh()) {
    v1::SshReach& ssh = *node.mutable_reach()->mutable_ssh();
    ssh.set_connect_limit_ms(std::min(ssh.connect_limit_ms(), kReconnectLimitMs));
  } else if (node.reach().has_callback()) {
    v1::CallbackReach& callback = *node.mutable_reach()->mutable_callback();
    callback.set_limit_ms(std::min(callback.limit_ms(), kReconnectLimitMs));
    if (callback.has_step()) callback.mutable_step()->set_restartable(mode != AgentMode::kResume);
  }
  const auto try_once = [this, node = std::move(node),
                         mode](const std::stop_token& stop) -> Result<std::shared_ptr<NodeLink>> {
    AD_ASSIGN_OR_RETURN(const auto transport,
                        options_.connector->TransportTo(node.reach(), *loop_));
    return TryToReach(*transport, node, mode, stop, nullptr);
  };
  reconnector_->Start({node_rank, wait, deadline, std::move(broken), try_once,
                       [node_rank, done = std::move(done)](auto link) {
                         const Status status = link.status();
                         done({node_rank, status, link.ok() ? *std::move(link) : nullptr, {}});
                       }});
}

std::string PlanLauncher::ScopeOf(uint32_t node_rank) {
  const std::lock_guard lock(mutex_);
  const auto found = scopes_.find(node_rank);
  return found == scopes_.end() ? "" : found->second;
}

void PlanLauncher::Resume(uint32_t node_rank, milliseconds wait, Deadline deadline,
                          std::shared_ptr<NodeLink> broken, Done done) {
  LinkAgain(node_rank, AgentMode::kResume, wait, deadline, std::move(broken), std::move(done));
}

void PlanLauncher::Reach(uint32_t node_rank, Deadline deadline, std::shared_ptr<NodeLink> broken,
                         Done done) {
  LinkAgain(node_rank, AgentMode::kRejoin, milliseconds(0), deadline, std::move(broken),
            std::move(done));
}

// For all nodes in parallel, since it needs no thread.
void PlanLauncher::Prepare(uint32_t node_rank, v1::PrepareRequest request,
                           std::shared_ptr<NodeLink> link, Done done) {
  CompleteRequest(request);
  Enter(node_rank, LaunchProgress::State::kPreparing);
  std::stop_token stop;
  {
    const std::lock_guard lock(mutex_);
    stop = (preparing_[node_rank] = {}).get_token();
    ++prepare_calls_;
  }
  NodeLink& of_node = *link;
  of_node.PrepareLater(
      std::move(request), PrepareDeadline(), stop,
      [this, node_rank, link = std::move(link), sent = base::NanosecondsSince1970(),
       done = std::move(done)](auto prepared) mutable {
        LaunchedNode launched{node_rank, OkStatus(), std::move(link), {}};
        TakePrepared(std::move(prepared), sent, launched);
        {
          const std::lock_guard lock(mutex_);
          preparing_.erase(node_rank);
        }
        std::exchange(done, {})(std::move(launched));
        const std::lock_guard lock(mutex_);
        --prepare_calls_;
        prepared_.notify_all();
      });
}

Result<std::shared_ptr<NodeLink>> PlanLauncher::TryToReach(transport::Transport& transport,
                                                           const v1::NodePlan& node, AgentMode mode,
                                                           const std::stop_token& stop,
                                                           v1::Check* step) {
  const AgentSession session{plan_.job_id(),
                             node.node_rank(),
                             options_.lease(),
                             options_.grace(),
                             base::RandomHex(),
                             options_.greeting ? options_.greeting(node.node_rank())
                                               : std::string(rpc::kGreetingSize, '-'),
                             mode,
                             mode == AgentMode::kResume ? ScopeOf(node.node_rank()) : ""};
  const bool local = node.reach().has_local();
  const bool there = local || node.reach().has_callback();
  auto link = RunAgent(transport, session,
                       there ? AgentCommandAt(local ? agent_here_ : rpc::kOwnProgram, session)
                             : InstallingAgentCommand(agent_, session),
                       stop, step);
  if (link.ok() || link.status().code() == StatusCode::kNotFound) busy_servers_.GotIn();
  return link;
}

Result<std::shared_ptr<NodeLink>> PlanLauncher::RunAgent(transport::Transport& transport,
                                                         const AgentSession& session,
                                                         const AgentCommand& command,
                                                         const std::stop_token& stop,
                                                         v1::Check* step) {
  const v1::Reach& how = plan_.nodes(static_cast<int>(session.node_rank)).reach();
  Enter(session.node_rank,
        how.has_ssh() ? LaunchProgress::State::kLoggingIn : LaunchProgress::State::kConnecting);
  AD_ASSIGN_OR_RETURN(std::unique_ptr<transport::Stream> stream, transport.Run(command.argv, stop));
  const auto starting = [&] {
    if (step) *step = v1::CHECK_AGENT;
    Enter(session.node_rank, LaunchProgress::State::kStartingAgent);
  };
  const bool in_container = how.has_program() || how.ssh().has_container();
  if (command.installs) {
    if (how.has_ssh()) {
      Enter(session.node_rank,
            stream->logged_in() ? LaunchProgress::State::kLoggedIn : LaunchProgress::State::kInSsh);
    }
    if (in_container) Enter(session.node_rank, LaunchProgress::State::kInContainer);
  } else {
    starting();
  }
  const auto sent = [&](uint64_t bytes, uint64_t of) {
    if (options_.progress) options_.progress->SendingAgent(session.node_rank, bytes, of);
  };
  const StartWatch watch{StartLimit(kDefaultReadyLimit), starting, sent, in_container};
  AD_ASSIGN_OR_RETURN(ReachedAgent agent,
                      AwaitAgent(*stream, agent_, session, command, stop, watch));
  {
    const std::lock_guard lock(mutex_);
    scopes_[session.node_rank] = std::move(agent.scope);
  }
  base::UniqueFd line(fcntl(agent.socket.get(), F_DUPFD_CLOEXEC, 0));
  AD_ASSIGN_OR_RETURN(auto channel, rpc::ChannelToAgent(std::move(agent.socket)));
  return std::make_shared<GrpcLink>(std::move(stream), std::move(channel), std::move(line));
}

}  // namespace

int64_t ClockOffset(int64_t time, int64_t sent, int64_t received) {
  return time - std::clamp(time, sent, std::max(sent, received));
}

Result<std::unique_ptr<Launcher>> Launcher::Create(const v1::LaunchPlan& plan,
                                                   LaunchOptions options) {
  AD_ASSIGN_OR_RETURN(transfer::NodeProgram agent,
                      transfer::NodeProgram::OfAgent(options.request.agent()));
  std::string here;
  if (std::ranges::any_of(plan.nodes(),
                          [](const auto& node) { return node.reach().has_local(); })) {
    AD_ASSIGN_OR_RETURN(here, agent.PathHere());
  }
  AD_ASSIGN_OR_RETURN(auto loop, ssh::SshLoop::Create());
  AD_ASSIGN_OR_RETURN(auto reconnector,
                      Reconnector::Create(kReconnectingPerFanOut * options.request.fan_out()));
  return std::make_unique<PlanLauncher>(plan, std::move(options), std::move(agent), std::move(here),
                                        std::move(loop), std::move(reconnector));
}

}  // namespace autodist::launch
