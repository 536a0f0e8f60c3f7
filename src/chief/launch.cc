#include "chief/launch.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>

#include "base/random.h"

namespace autodist::chief {
namespace {

// The agent gives up on the node's activation sooner.
constexpr std::chrono::seconds kPrepareLimit{90};
// Waits of 0.2, 0.4, ... seconds, 6 s in all.
constexpr std::chrono::milliseconds kFirstRetryWait{200};
constexpr int kMostRetries = 5;

}  // namespace

Result<std::unique_ptr<Launcher>> Launcher::Create(const v1::LaunchPlan& plan,
                                                   LaunchOptions options) {
  std::unique_ptr<Launcher> launcher(new Launcher(plan, std::move(options)));
  AD_ASSIGN_OR_RETURN(launcher->agent_, AgentBinary::Load(launcher->options_.agent_path));
  AD_ASSIGN_OR_RETURN(launcher->loop_, transport::SshLoop::Create());
  return launcher;
}

Launcher::~Launcher() { Cancel(); }

void Launcher::Start(const std::function<void(LaunchedNode)>& done) {
  const auto count = static_cast<uint32_t>(plan_.nodes_size());
  const auto next = std::make_shared<std::atomic<uint32_t>>(0);
  for (uint32_t i = 0; i < std::min(count, options_.fan_out); ++i) {
    threads_.emplace_back([this, next, count, done] {
      for (uint32_t node = (*next)++; node < count; node = (*next)++) {
        done(Launch(plan_.nodes(static_cast<int>(node))));
      }
    });
  }
}

LaunchedNode Launcher::Launch(const v1::NodePlan& node) {
  LaunchedNode launched{node.node_rank(), OkStatus(), nullptr, {}};
  FolderSync* sync = node.reach().has_ssh() ? options_.sync.get() : nullptr;
  auto link = Reach(node);
  if (!link.ok()) {
    if (sync) sync->Skip();
    launched.status = link.status();
    return launched;
  }
  launched.link = std::move(*link);
  if (sync) {
    launched.status =
        Annotate(launched.link->Sync(*sync, stop_.get_token()), "copying the working directory");
    if (!launched.status.ok()) return launched;
  }
  v1::PrepareRequest request;
  *request.mutable_node() = node;
  request.set_working_directory(plan_.working_directory());
  if (options_.examination) *request.mutable_examination() = *options_.examination;
  auto prepared =
      launched.link->Prepare(request, base::Deadline::After(kPrepareLimit), stop_.get_token());
  if (prepared.ok()) {
    launched.prepared = std::move(*prepared);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    launched.clock_offset_ns = launched.prepared.facts().time_ns() -
                               std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  } else {
    launched.status = Annotate(prepared.status(), "preparing the node");
  }
  return launched;
}

Result<std::unique_ptr<NodeLink>> Launcher::Reach(const v1::NodePlan& node) {
  AD_ASSIGN_OR_RETURN(const auto transport, options_.logins->TransportTo(node.reach(), *loop_));
  for (int attempt = 0;; ++attempt) {
    auto link = TryToReach(*transport, node);
    if (link.status().code() != StatusCode::kResourceExhausted || !WaitBeforeRetry(attempt)) {
      return link;
    }
  }
}

// An sshd at its limit of logins in progress, a jump host's above all, takes them a little later.
bool Launcher::WaitBeforeRetry(int attempt) {
  if (attempt == kMostRetries) return false;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  std::random_device random;
  const double jitter = std::uniform_real_distribution<>(0.5, 1.5)(random);
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(kFirstRetryWait *
                                                                          (1 << attempt) * jitter);
  never.wait_for(lock, stop_.get_token(), wait, [] { return false; });
  return !stop_.stop_requested();
}

Result<std::unique_ptr<NodeLink>> Launcher::TryToReach(transport::Transport& transport,
                                                       const v1::NodePlan& node) {
  const AgentSession session{plan_.job_id(), node.node_rank(), options_.lease, options_.grace,
                             base::RandomHex()};
  const bool local = node.reach().has_local();
  auto link =
      RunAgent(transport, session,
               local ? LocalAgentCommand(agent_, session) : RemoteAgentCommand(agent_, session));
  if (!local && link.status().code() == StatusCode::kNotFound) {
    link = RunAgent(transport, session, InstallingAgentCommand(agent_, session));
  }
  return link;
}

Result<std::unique_ptr<NodeLink>> Launcher::RunAgent(transport::Transport& transport,
                                                     const AgentSession& session,
                                                     const AgentCommand& command) {
  AD_ASSIGN_OR_RETURN(std::unique_ptr<transport::Stream> stream,
                      transport.Run(command.argv, stop_.get_token()));
  AD_ASSIGN_OR_RETURN(base::UniqueFd socket,
                      AwaitAgent(*stream, agent_, session, command, stop_.get_token()));
  AD_ASSIGN_OR_RETURN(auto channel, rpc::ChannelOver(std::move(socket)));
  return std::make_unique<NodeLink>(std::move(stream), std::move(channel));
}

}  // namespace autodist::chief
