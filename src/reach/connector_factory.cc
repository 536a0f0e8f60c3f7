#include "reach/connector_factory.h"

#include "base/ip_address.h"
#include "exec/exec.h"
#include "process/spawn.h"
#include "secure/key.h"
#include "ssh/ssh_transport.h"
#include "transport/local.h"

namespace autodist::reach {
namespace {

constexpr std::chrono::seconds kOverLimit{2};  // for nodes to connect and receive the notification
constexpr size_t kLargestKeyFile = 4096;       // bytes

template <typename Repeated>
std::vector<std::string> ToVector(const Repeated& texts) {
  return {texts.begin(), texts.end()};
}

ssh::IdentityOptions KeysFor(const v1::SshReach& ssh) {
  return {ToVector(ssh.key_files()), ssh.key_file_required(), ToVector(ssh.certificate_files()),
          ssh.agent_socket(), ssh.identities_only()};
}

bool NeedsKeys(const v1::Reach& reach) {
  return reach.has_ssh() && !reach.ssh().by_ssh_program() && reach.ssh().error().empty();
}

// Returns the addresses in the order in which they are tried.
Result<std::vector<base::IpAddress>> AddressesOf(const v1::SshReach& ssh) {
  std::vector<std::string> texts = ToVector(ssh.other_addresses());
  texts.insert(texts.begin(), ssh.address());
  std::vector<base::IpAddress> addresses;
  for (const std::string& text : texts) {
    const auto address = base::IpAddress::Parse(text);
    if (!address) return Error(StatusCode::kInvalidArgument, "not an address");
    addresses.push_back(*address);
  }
  return addresses;
}

// The container's name is the last argument of podman and docker; see MakeReach.
template <typename Way>
exec::Container ContainerOf(const std::string& image, const Way& way) {
  return {image, way.program(), way.argv_size() > 0 ? *way.argv().rbegin() : ""};
}

Result<secure::Key> JobKeyFor(const v1::CallbackReach& reach) {
  if (reach.credentials_file().empty()) return secure::Key::Random();
  AD_ASSIGN_OR_RETURN(const std::string text,
                      base::ReadFile(reach.credentials_file(), kLargestKeyFile));
  if (const auto key = secure::JobKeyIn(text)) return *key;
  return Error(StatusCode::kInvalidArgument,
               reach.credentials_file() + " does not have the job's key");
}

}  // namespace

std::shared_ptr<ConnectorFactory> ConnectorFactory::For(const v1::LaunchPlan& plan) {
  process::RaiseFileLimit();
  auto logins = std::make_shared<ConnectorFactory>();
  for (const v1::NodePlan& node : plan.nodes()) logins->Prepare(node.reach());
  return logins;
}

ConnectorFactory::~ConnectorFactory() {
  if (callback_listener_ && callback_listener_->ok())
    (**callback_listener_)->Dismiss(base::Deadline::After(kOverLimit));
}

void ConnectorFactory::Prepare(const v1::Reach& reach) {
  if (reach.has_callback()) callback_clients_.insert(reach.callback().name());
  if (NeedsKeys(reach)) (void)identities_.For(KeysFor(reach.ssh())).status();
}

Result<std::unique_ptr<transport::Transport>> ConnectorFactory::TransportTo(const v1::Reach& reach,
                                                                            ssh::SshLoop& loop) {
  if (reach.has_local()) return std::make_unique<transport::LocalTransport>();
  if (reach.has_callback()) {
    AD_ASSIGN_OR_RETURN(auto nodes, ListenerOf(reach.callback()));
    return std::make_unique<callback::CallbackTransport>(
        std::move(nodes), reach.callback().name(),
        std::chrono::milliseconds(reach.callback().limit_ms()));
  }
  if (reach.has_program()) return TransportBy(reach.program());
  const v1::SshReach& ssh = reach.ssh();
  if (!ssh.error().empty()) return Status(StatusCode::kNotFound, ssh.error(), ssh.error_hint());
  std::optional<ssh::SshTarget> session;
  Status no_session;
  if (NeedsKeys(reach)) {
    auto offer = identities_.For(KeysFor(ssh));
    if (offer.ok()) {
      AD_ASSIGN_OR_RETURN(std::vector<base::IpAddress> addresses, AddressesOf(ssh));
      session = {ssh, std::move(addresses), *std::move(offer), KnownHostsFor(ssh)};
    } else if (offer.status().code() != StatusCode::kUnimplemented) {
      // Some servers require no key, or another method.
      if (ssh.key_file_required()) return offer.status();
      no_session = offer.status();
    }
  }
  auto login = std::make_unique<ssh::SshTransport>(loop, std::move(session), std::move(no_session),
                                                   ssh, fallback_);
  if (!ssh.has_container()) return login;
  return std::make_unique<exec::ExecTransport>(
      std::move(login), ToVector(ssh.container().argv()),
      ssh.container().program() + " on " + ssh.host(),
      ContainerOf(ssh.container().image(), ssh.container()));
}

Result<std::unique_ptr<transport::Transport>> ConnectorFactory::TransportBy(
    const v1::ProgramReach& program) {
  if (program.program() == "kubectl") {
    const std::lock_guard lock(mutex_);
    if (!kubectl_) kubectl_ = exec::CheckKubectl();
    AD_RETURN_IF_ERROR(*kubectl_);
  }
  return std::make_unique<exec::ExecTransport>(std::make_unique<transport::LocalTransport>(),
                                               ToVector(program.argv()), program.program(),
                                               ContainerOf("", program));
}

Result<std::shared_ptr<callback::CallbackListener>> ConnectorFactory::ListenerOf(
    const v1::CallbackReach& reach) {
  const std::lock_guard lock(mutex_);
  if (!callback_listener_) {
    const auto job_key = JobKeyFor(reach);
    if (job_key.ok()) {
      callback_listener_ = callback::CallbackListener::Listen(
          {static_cast<uint16_t>(reach.port()), static_cast<uint16_t>(reach.last_port())}, *job_key,
          callback_clients_);
    } else {
      callback_listener_ = job_key.status();
    }
  }
  return *callback_listener_;
}

std::shared_ptr<ssh::KnownHosts> ConnectorFactory::KnownHostsFor(const v1::SshReach& ssh) {
  if (ssh.host_keys_size() > 0) return ssh::KnownHosts::OfOneHost(ToVector(ssh.host_keys()));
  const std::vector<std::string> files = ToVector(ssh.known_hosts_files());
  const std::lock_guard lock(mutex_);
  auto& known = known_hosts_[files];
  if (!known) known = std::make_shared<ssh::KnownHosts>(files);
  return known;
}

}  // namespace autodist::reach
