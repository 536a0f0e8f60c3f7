// The credentials for logins to nodes: keys and known hosts, each read once for all nodes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "callback/callback_listener.h"
#include "reach/connector.h"
#include "ssh/identities.h"
#include "ssh/known_hosts.h"
#include "ssh/ssh_loop.h"
#include "ssh/ssh_transport.h"
#include "transport/transport.h"

namespace autodist::reach {

// Thread-safe. For the nodes of a Slurm allocation see slurm/steps.h.
class ConnectorFactory final : public Connector {
 public:
  ConnectorFactory() = default;
  // Notifies nodes that connect back of the job's end; waits two seconds at most.
  ~ConnectorFactory() override;
  ConnectorFactory(const ConnectorFactory&) = delete;
  ConnectorFactory& operator=(const ConnectorFactory&) = delete;

  // Creates everything that this process needs to reach the plan's nodes: the keys, see Prepare,
  // and the maximum number of open files.
  static std::shared_ptr<ConnectorFactory> For(const v1::LaunchPlan& plan);

  // Reads the keys for this node, so that the passphrase of an encrypted one is asked for before
  // anything is started. Issues with a key are reported when its node is connected to. Nodes that
  // connect back may do so once one of them is connected to.
  void Prepare(const v1::Reach& reach);

  // Returns the known hosts for the node's host key.
  std::shared_ptr<ssh::KnownHosts> KnownHostsFor(const v1::SshReach& ssh);

  Result<std::unique_ptr<transport::Transport>> TransportTo(const v1::Reach& reach,
                                                            ssh::SshLoop& loop) override;

  // Returns the listener for nodes that connect back; starts it on first use.
  Result<std::shared_ptr<callback::CallbackListener>> ListenerOf(const v1::CallbackReach& reach);

 private:
  Result<std::unique_ptr<transport::Transport>> TransportBy(const v1::ProgramReach& program);

  ssh::Identities identities_;
  const std::shared_ptr<ssh::SshFallback> fallback_ = std::make_shared<ssh::SshFallback>();
  std::mutex mutex_;
  std::map<std::vector<std::string>, std::shared_ptr<ssh::KnownHosts>> known_hosts_;
  std::set<std::string> callback_clients_;  // their names
  std::optional<Result<std::shared_ptr<callback::CallbackListener>>>
      callback_listener_;          // created on first use
  std::optional<Status> kubectl_;  // of this machine, after its first check
};

}  // namespace autodist::reach
