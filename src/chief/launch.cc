#include "chief/launch.h"

#include <algorithm>
#include <atomic>
#include <random>

#include "transport/local.h"
#include "transport/ssh.h"

namespace autodist::chief {
namespace {

// The agent gives up on the node's activation sooner.
constexpr std::chrono::seconds kPrepareLimit{90};

std::string NewNonce() {
  std::random_device random;
  std::string nonce;
  for (int i = 0; i < 4; ++i) {
    for (uint32_t word = random(), digit = 0; digit < 8; ++digit, word >>= 4) {
      nonce += "0123456789abcdef"[word & 15];
    }
  }
  return nonce;
}

}  // namespace

Result<std::unique_ptr<Launcher>> Launcher::Create(const v1::LaunchPlan& plan,
                                                   LaunchOptions options) {
  std::unique_ptr<Launcher> launcher(new Launcher(plan, std::move(options)));
  AD_ASSIGN_OR_RETURN(launcher->agent_, AgentBinary::Load(launcher->options_.agent_path));
  AD_ASSIGN_OR_RETURN(launcher->loop_, transport::SshLoop::Create());
  launcher->known_hosts_ = std::make_shared<const transport::KnownHosts>(
      transport::KnownHosts::Load(launcher->options_.known_hosts_files));
  for (const v1::NodePlan& node : plan.nodes()) {
    const std::string& file = node.reach().ssh().key_file();
    if (node.reach().has_ssh() && !launcher->keys_.contains(file)) {
      launcher->keys_.emplace(file, transport::SshKey::Load(file));
    }
  }
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
  auto prepared =
      launched.link->Prepare(request, base::Deadline::After(kPrepareLimit), stop_.get_token());
  if (prepared.ok()) {
    launched.prepared = std::move(*prepared);
  } else {
    launched.status = Annotate(prepared.status(), "preparing the node");
  }
  return launched;
}

Result<std::unique_ptr<NodeLink>> Launcher::Reach(const v1::NodePlan& node) {
  const AgentSession session{plan_.job_id(), node.node_rank(), options_.lease, options_.grace,
                             NewNonce()};
  const auto transport = TransportTo(node);
  AD_RETURN_IF_ERROR(transport.status());
  const bool local = node.reach().has_local();
  auto link =
      RunAgent(**transport, session,
               local ? LocalAgentCommand(agent_, session) : RemoteAgentCommand(agent_, session));
  if (!local && link.status().code() == StatusCode::kNotFound) {
    link = RunAgent(**transport, session, InstallingAgentCommand(agent_, session));
  }
  return link;
}

Result<std::unique_ptr<NodeLink>> Launcher::RunAgent(transport::Transport& transport,
                                                     const AgentSession& session,
                                                     const std::vector<std::string>& command) {
  AD_ASSIGN_OR_RETURN(std::unique_ptr<transport::Stream> stream,
                      transport.Run(command, stop_.get_token()));
  AD_ASSIGN_OR_RETURN(base::UniqueFd socket,
                      AwaitAgent(*stream, agent_, session, stop_.get_token()));
  AD_ASSIGN_OR_RETURN(auto channel, rpc::ChannelOver(std::move(socket)));
  return std::make_unique<NodeLink>(std::move(stream), std::move(channel));
}

Result<std::unique_ptr<transport::Transport>> Launcher::TransportTo(const v1::NodePlan& node) {
  if (node.reach().has_local()) return std::make_unique<transport::LocalTransport>();
  const v1::SshReach& ssh = node.reach().ssh();
  AD_ASSIGN_OR_RETURN(const auto key, keys_.at(ssh.key_file()));
  const auto address = base::IpAddress::Parse(node.data_address());
  if (!address) return Error(StatusCode::kInvalidArgument, "not an address");
  return std::make_unique<transport::SshTransport>(
      *loop_, transport::SshTarget{ssh.host(), *address, static_cast<uint16_t>(ssh.port()),
                                   ssh.username(), ssh.key_file(), key, known_hosts_});
}

}  // namespace autodist::chief
