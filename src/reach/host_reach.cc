#include "reach/host_reach.h"

#include "reach/resolve.h"

namespace autodist::reach {

Result<std::unique_ptr<HostReach>> HostReach::Create(const std::vector<spec::HostEntry>& hosts,
                                                     const spec::LoginSettings& login,
                                                     const plan::User& user) {
  // As a spec would have them.
  spec::ResourceSpec spec;
  for (const spec::HostEntry& host : hosts) {
    spec::Node node;
    node.address = host.host;
    node.ssh_config = host.user.empty() ? login.username : host.user;
    spec::SshGroup& group = spec.ssh[node.ssh_config];
    group.username = node.ssh_config;
    group.key_file = login.key_file;
    group.port = login.port;
    spec.nodes.push_back(std::move(node));
  }
  AD_ASSIGN_OR_RETURN(const auto addresses, FindNodes(spec, user));

  std::unique_ptr<HostReach> reach(new HostReach);
  for (const spec::Node& node : spec.nodes) {
    const plan::NodeAddress& address = addresses.at(node.address);
    const auto hostname = address.openssh.find("hostname");
    reach->names_.push_back(hostname == address.openssh.end() ? node.address : hostname->second);
    *reach->reaches_.emplace_back().mutable_ssh() =
        plan::MakeSshReach(node, spec.ssh.at(node.ssh_config), address, user);
  }
  AD_ASSIGN_OR_RETURN(reach->loop_, transport::SshLoop::Create());
  return reach;
}

}  // namespace autodist::reach
