// What it takes to log in to nodes: keys and known hosts, each read once for all nodes.
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
#include "ssh/ssh_fallback.h"
#include "ssh/ssh_loop.h"
#include "transport/transport.h"

namespace autodist::reach {

// Thread-safe. Of a Slurm allocation's nodes see slurm/steps.h.
class ConnectorFactory final : public Connector {
 public:
  ConnectorFactory() = default;
  // Tells nodes that call in that the job is over, for which it waits for two seconds at most.
  ~ConnectorFactory() override;
  ConnectorFactory(const ConnectorFactory&) = delete;
  ConnectorFactory& operator=(const ConnectorFactory&) = delete;

  // All that this process needs to reach the plan's nodes: the keys, see Prepare, and as many open
  // files as it may have.
  static std::shared_ptr<ConnectorFactory> For(const v1::LaunchPlan& plan);

  // Reads the keys for this node now, so that the passphrase of an encrypted one is asked for
  // before anything is started. What is wrong with a key shows when its node is to be reached. A
  // node that calls may do so once one of them is to be reached.
  void Prepare(const v1::Reach& reach);

  // What the node's host key is looked up in.
  std::shared_ptr<ssh::KnownHosts> KnownHostsFor(const v1::SshReach& ssh);

  Result<std::unique_ptr<transport::Transport>> TransportTo(const v1::Reach& reach,
                                                            ssh::SshLoop& loop) override;

  // Where nodes call, from the first time on that one of them is to be reached.
  Result<std::shared_ptr<callback::CallbackListener>> ListenerOf(const v1::CallbackReach& reach);

 private:
  Result<std::unique_ptr<transport::Transport>> TransportBy(const v1::ProgramReach& program);

  ssh::Identities identities_;
  const std::shared_ptr<ssh::SshFallback> fallback_ = std::make_shared<ssh::SshFallback>();
  std::mutex mutex_;
  std::map<std::vector<std::string>, std::shared_ptr<ssh::KnownHosts>> known_hosts_;
  std::set<std::string> callback_clients_;  // their names
  std::optional<Result<std::shared_ptr<callback::CallbackListener>>>
      callback_listener_;          // once one is to call
  std::optional<Status> kubectl_;  // of this machine, once it has been looked at
};

}  // namespace autodist::reach
