// Source of the format: tensorflow/python/distribute/cluster_resolver/tfconfig_cluster_resolver.py.
#include <nlohmann/json.hpp>

#include "framework/world.h"

namespace autodist::framework {
namespace {

void SetTensorflowVariables(const Process& process, const SetVariable& set) {
  const v1::LaunchPlan& plan = process.plan;
  nlohmann::ordered_json config;
  nlohmann::ordered_json& workers = config["cluster"]["worker"] = nlohmann::json::array();
  for (const v1::NodePlan& node : plan.nodes()) {
    const std::vector<std::string> endpoints = EndpointsOf(plan, node);
    for (size_t i = 0; i < (PerDevice(plan) ? endpoints.size() : 1); ++i) {
      workers.push_back(endpoints[i]);
    }
  }
  config["task"] = {{"type", "worker"},
                    {"index", PerDevice(plan) ? process.rank.rank() : process.node.node_rank()}};
  set("TF_CONFIG", config.dump());
  KeepGrpcFromProxies(process, set);
  // A worker takes all visible GPUs. But PyTorch in the same job needs to see all GPUs of the node,
  // from which it selects by the local rank.
  const v1::Device& device = process.rank.device();
  if (PerDevice(plan) && device.kind() == v1::DEVICE_KIND_GPU && plan.frameworks_size() == 1) {
    set("CUDA_VISIBLE_DEVICES", DeviceName(device));
  }
}

}  // namespace

const Framework kTensorflow = {
    "tensorflow",
    "TensorFlow's MultiWorkerMirroredStrategy; --per node: one worker for all GPUs of a node",
    {v1::PROGRAM_KIND_PER_DEVICE, v1::PROGRAM_KIND_PER_NODE},
    /*uses_master_port=*/false,
    SetTensorflowVariables,
    nullptr,
    ReserveRankPorts,
    /*uses_rank_ports=*/true,
};

}  // namespace autodist::framework
