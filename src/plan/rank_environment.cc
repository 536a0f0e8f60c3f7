#include "plan/rank_environment.h"

namespace autodist::plan {
namespace {

// Left by an outer launcher, these would make a framework believe that it was started by it.
constexpr const char* kStaleVariables[] = {
    "AUTODIST_*",
    "TORCHELASTIC_*",
    "PET_*",
    "OMPI_COMM_WORLD_*",
    "OMPI_UNIVERSE_SIZE",
    "OMPI_COMMAND",
    "OMPI_MCA_orte_*",
    "OMPI_MCA_ess*",
    "PMIX_*",
    "PMI_*",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_NTASKS*",
    "SLURM_STEP*",
    "SLURM_TASKS_PER_NODE",
    "PADDLE_TRAINER*",
    "PADDLE_CURRENT_ENDPOINT",
    "PADDLE_MASTER",
    "PADDLE_RANK*",
    "MS_ROLE",
    "MS_NODE_ID",
    "MS_WORKER_NUM",
    "MS_SCHED_*",
    "RANK_TABLE_FILE",
    "RANK_ID",
    "RANK_SIZE",
    "DEVICE_ID",
    "TF_CONFIG",
    "HOROVOD_RANK",
    "HOROVOD_SIZE",
    "HOROVOD_LOCAL_*",
    "HOROVOD_CROSS_*",
    "HOROVOD_GLOO_RENDEZVOUS_*",
    "HOROVOD_HOSTNAME",
};

std::string Join(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (const uint32_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

std::string AllAddresses(const v1::LaunchPlan& plan) {
  std::string text;
  for (const v1::NodePlan& node : plan.nodes()) {
    text += (text.empty() ? "" : ",") + node.data_address();
  }
  return text;
}

}  // namespace

void SetRankEnvironment(const RankContext& context, v1::RankPlan& rank) {
  const v1::LaunchPlan& plan = *context.plan;
  const auto set = [&](const char* name, const std::string& value) {
    v1::EnvironmentVariable& variable = *rank.add_environment();
    variable.set_name(name);
    variable.set_value(value);
  };
  const std::string global = std::to_string(context.rank);
  const std::string local = std::to_string(context.local_rank);
  const std::string world = std::to_string(plan.world_size());
  const std::string local_world = std::to_string(context.local_world_size);
  const std::string node = std::to_string(context.node->node_rank());
  const std::string nodes = std::to_string(plan.nodes_size());
  const std::string& chief = plan.nodes(0).data_address();
  const bool on_gpu = rank.device().kind() == v1::DEVICE_KIND_GPU;

  set("AUTODIST_JOB_ID", plan.job_id());
  set("AUTODIST_RANK", global);
  set("AUTODIST_WORLD_SIZE", world);
  set("AUTODIST_LOCAL_RANK", local);
  set("AUTODIST_LOCAL_WORLD_SIZE", local_world);
  set("AUTODIST_NODE_RANK", node);
  set("AUTODIST_NODE_COUNT", nodes);
  set("AUTODIST_NODE_ADDRESS", context.node->data_address());
  set("AUTODIST_NODE_ADDRESSES", AllAddresses(plan));
  set("AUTODIST_CHIEF_ADDRESS", chief);
  set("AUTODIST_RESTART_COUNT", std::to_string(plan.restart_count()));
  set("AUTODIST_DEVICE", on_gpu ? "gpu" : "cpu");

  set("RANK", global);
  set("WORLD_SIZE", world);
  set("LOCAL_RANK", local);
  set("LOCAL_WORLD_SIZE", local_world);
  set("NODE_RANK", node);
  set("GROUP_RANK", node);
  set("GROUP_WORLD_SIZE", nodes);
  set("ROLE_NAME", "default");
  set("ROLE_RANK", global);
  set("ROLE_WORLD_SIZE", world);
  set("MASTER_ADDR", chief);
  set("MASTER_PORT", std::to_string(context.master_port));
  set("TORCHELASTIC_RUN_ID", plan.job_id());
  set("TORCHELASTIC_RESTART_COUNT", std::to_string(plan.restart_count()));
  set("TORCHELASTIC_MAX_RESTARTS", std::to_string(plan.max_restarts()));
  // Rank 0 opens the store itself.
  set("TORCHELASTIC_USE_AGENT_STORE", "False");

  // The node's whole list, not one device: programs call set_device(LOCAL_RANK).
  set("CUDA_VISIBLE_DEVICES", Join(context.gpus));
}

void SetNodeEnvironment(uint32_t local_world_size, v1::NodePlan& node) {
  for (const char* name : kStaleVariables) node.add_removed_variables(name);
  const auto by_default = [&](const char* name, const char* value) {
    v1::EnvironmentVariable& variable = *node.add_default_variables();
    variable.set_name(name);
    variable.set_value(value);
  };
  by_default("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  // Several ranks with a thread per core each would fight for the cores.
  if (local_world_size > 1) by_default("OMP_NUM_THREADS", "1");

  const auto by_interface = [&](const char* name, const char* prefix) {
    v1::EnvironmentVariable& variable = *node.add_interface_variables();
    variable.set_name(name);
    variable.set_value(prefix);
  };
  by_interface("NCCL_SOCKET_IFNAME", "=");  // NCCL: "=" asks for exactly this name
  by_interface("GLOO_SOCKET_IFNAME", "");
  by_interface("TP_SOCKET_IFNAME", "");
}

}  // namespace autodist::plan
