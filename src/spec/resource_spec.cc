#include "spec/resource_spec.h"

#include <algorithm>

namespace autodist::spec {

const Node& ResourceSpec::chief() const {
  return *std::find_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.chief; });
}

ResourceSpec SingleNode(std::vector<uint32_t> gpus) {
  ResourceSpec spec;
  spec.nodes.push_back({"localhost", {0}, std::move(gpus), true, "", 1.0});
  return spec;
}

}  // namespace autodist::spec
