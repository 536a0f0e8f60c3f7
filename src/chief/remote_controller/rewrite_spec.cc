#include "chief/remote_controller/rewrite_spec.h"

#include <unistd.h>

#include <algorithm>

#include "base/home_folder.h"

namespace autodist::chief {
namespace {

// Copies settings of the ssh group into the node, because a chief has none.
void MakeChief(const spec::SshGroup& group, spec::Node& node) {
  if (node.python_venv.empty()) node.python_venv = group.python_venv;
  spec::SharedEnvs envs;
  for (const auto& entry : group.shared_envs) {
    const bool own =
        std::ranges::count(node.shared_envs, entry.first, &spec::SharedEnvs::value_type::first) > 0;
    if (!own) envs.push_back(entry);
  }
  envs.insert(envs.end(), node.shared_envs.begin(), node.shared_envs.end());
  node.shared_envs = std::move(envs);
  node.ssh_config.clear();
  node.chief = true;
}

// Keeps the login name if it comes from the OpenSSH configuration here.
void SetLogin(const v1::SshReach& ssh, const spec::ResourceSpec& spec, spec::ResourceSpec& there,
              spec::Node& node) {
  node.port = static_cast<uint16_t>(ssh.port());
  spec::SshGroup group = there.ssh.at(node.ssh_config);
  if (group.username.empty()) {
    group.username = ssh.username();
    node.ssh_config += " as " + ssh.username();
    while (spec.ssh.contains(node.ssh_config)) node.ssh_config += "'";
    there.ssh.emplace(node.ssh_config, std::move(group));
  }
}

}  // namespace

spec::ResourceSpec RewriteSpec(const spec::ResourceSpec& spec, const v1::LaunchPlan& plan,
                               const std::string& chief, const DataAddresses& reported,
                               const HostKeys& host_keys) {
  spec::ResourceSpec there = spec;
  for (auto& [name, group] : there.ssh) group.proxy_jump.clear();
  for (const v1::NodePlan& planned : plan.nodes()) {
    spec::Node& node = *std::ranges::find(there.nodes, planned.address(),
                                          [](const auto& it) { return it.address; });
    const auto address = reported.find(node.address);
    if (address != reported.end()) node.data_address = address->second;
    if (node.address == chief) {
      MakeChief(spec.group_of(node), node);
      node.port.reset();
    } else if (planned.reach().has_ssh()) {
      SetLogin(planned.reach().ssh(), spec, there, node);
      const bool there_too = !planned.reach().ssh().has_container();  // else it is the container's
      if (node.ssh_address.empty() && there_too) node.ssh_address = node.data_address;
      const auto keys = host_keys.find(node.address);
      if (node.host_keys.empty() && keys != host_keys.end()) node.host_keys = keys->second;
    }
  }
  // Nodes without ranks were not asked, and do not take part.
  std::erase_if(there.nodes, [&](const spec::Node& node) {
    return std::ranges::none_of(plan.nodes(), [&](const v1::NodePlan& planned) {
      return planned.address() == node.address;
    });
  });
  return there;
}

void UseKeysOfThisMachine(spec::ResourceSpec& spec) {
  for (auto& [name, group] : spec.ssh) {
    const bool ours = access(base::ExpandHome(group.key_file).c_str(), R_OK) == 0;
    if (!ours) group.key_file.clear();
  }
}

}  // namespace autodist::chief
