// Sources of the names: jax/_src/distributed.py and jax/_src/clusters/slurm_cluster.py. JAX gets
// the number and index of processes only from launchers that it knows; Slurm's variables have the
// fewest side effects.
#include "framework/world.h"

namespace autodist::framework {
namespace {

void SetJaxVariables(const Process& process, const SetVariable& set) {
  const v1::LaunchPlan& plan = process.plan;
  const bool per_device = PerDevice(plan);
  const std::string count =
      std::to_string(per_device ? plan.world_size() : static_cast<uint32_t>(plan.nodes_size()));
  const std::string id =
      std::to_string(per_device ? process.rank.rank() : process.node.node_rank());
  const std::string local_id = std::to_string(process.rank.local_rank());
  const std::string port = std::to_string(plan.master_port());
  set("JAX_COORDINATOR_ADDRESS", HostAndPort(ChiefAddress(plan), plan.master_port()));
  set("JAX_COORDINATOR_PORT", port);
  set("JAX_NUM_PROCESSES", count);  // only scripts read these two
  set("JAX_PROCESS_ID", id);
  set("JAX_LOCAL_DEVICE_IDS",
      per_device ? local_id : CountUp(static_cast<uint32_t>(process.node.devices_size())));
  KeepGrpcFromProxies(process, set);
  set("SLURM_JOB_ID", port);  // any number
  set("SLURM_STEP_NODELIST", ChiefAddress(plan));
  set("SLURM_STEP_NUM_NODES", std::to_string(plan.nodes_size()));
  set("SLURM_NTASKS", count);
  set("SLURM_PROCID", id);
  set("SLURM_LOCALID", per_device ? local_id : "0");
}

}  // namespace

const Framework kJax = {
    "jax",
    "JAX: jax.distributed.initialize(); --per node: one process for all devices of a node",
    {v1::PROGRAM_KIND_PER_DEVICE, v1::PROGRAM_KIND_PER_NODE},
    /*uses_master_port=*/true,
    SetJaxVariables,
    nullptr,
    ReserveMasterPort,
};

}  // namespace autodist::framework
