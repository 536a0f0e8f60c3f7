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
