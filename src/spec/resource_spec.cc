#include "spec/resource_spec.h"

#include <algorithm>

namespace autodist::spec {

const Node* ResourceSpec::chief() const {
  const auto chief = std::ranges::find_if(nodes, &Node::chief);
  return chief == nodes.end() ? nullptr : &*chief;
}

const SshGroup& ResourceSpec::group_of(const Node& node) const {
  static const SshGroup none;
  return node.chief ? none : ssh.at(node.ssh_config);
}

void TakeEnvironment(const SshGroup& group, Node& node) {
  if (node.python_venv.empty()) node.python_venv = group.python_venv;
  SharedEnvs envs;
  for (const auto& entry : group.shared_envs) {
    const bool own =
        std::ranges::count(node.shared_envs, entry.first, &SharedEnvs::value_type::first) > 0;
    if (!own) envs.push_back(entry);
  }
  envs.insert(envs.end(), node.shared_envs.begin(), node.shared_envs.end());
  node.shared_envs = std::move(envs);
}

ResourceSpec WithoutEnvironments(ResourceSpec spec) {
  const auto clear = [](auto& settings) {
    settings.python_venv.clear();
    settings.shared_envs.clear();
  };
  for (Node& node : spec.nodes) clear(node);
  for (auto& [name, group] : spec.ssh) clear(group);
  return spec;
}

ResourceSpec SingleNode(std::vector<uint32_t> gpus) {
  ResourceSpec spec;
  Node node;
  node.address = "localhost";
  node.cpus = {0};
  node.gpus = std::move(gpus);
  node.chief = true;
  spec.nodes.push_back(std::move(node));
  return spec;
}

}  // namespace autodist::spec
