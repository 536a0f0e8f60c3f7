// Sources of the names: torch/distributed/rendezvous.py and
// torch/distributed/elastic/agent/server/local_elastic_agent.py for ranks;
// torch/distributed/argparse_util.py for torchrun, which takes each option from PET_<OPTION>.
#include "framework/world.h"

namespace autodist::framework {
namespace {

void SetTorchRank(const Process& process, const SetVariable& set) {
  const v1::LaunchPlan& plan = process.plan;
  const std::string rank = std::to_string(process.rank.rank());
  const std::string world = std::to_string(plan.world_size());
  const std::string node = std::to_string(process.node.node_rank());
  set("RANK", rank);
  set("WORLD_SIZE", world);
  set("LOCAL_RANK", std::to_string(process.rank.local_rank()));
  set("LOCAL_WORLD_SIZE", std::to_string(process.node.devices_size()));
  set("NODE_RANK", node);
  set("GROUP_RANK", node);
  set("GROUP_WORLD_SIZE", std::to_string(plan.nodes_size()));
  set("ROLE_NAME", "default");
  set("ROLE_RANK", rank);
  set("ROLE_WORLD_SIZE", world);
  set("MASTER_ADDR", ChiefAddress(plan));
  set("MASTER_PORT", std::to_string(plan.master_port()));
  set("TORCHELASTIC_RUN_ID", plan.job_id());
  set("TORCHELASTIC_RESTART_COUNT", std::to_string(plan.restart_count()));
  set("TORCHELASTIC_MAX_RESTARTS", std::to_string(plan.max_restarts()));
  // Rank 0 opens the store itself.
  set("TORCHELASTIC_USE_AGENT_STORE", "False");
}

void SetTorchrun(const Process& process, const SetVariable& set) {
  const v1::LaunchPlan& plan = process.plan;
  const std::string node = std::to_string(process.node.node_rank());
  const std::string port = std::to_string(plan.master_port());
  set("PET_NNODES", std::to_string(plan.nodes_size()));
  set("PET_NPROC_PER_NODE", std::to_string(process.node.devices_size()));
  set("PET_NODE_RANK", node);
  set("PET_MASTER_ADDR", ChiefAddress(plan));
  set("PET_MASTER_PORT", port);
  set("PET_RDZV_ID", plan.job_id());
  // The default is the host name, which other nodes may be unable to resolve.
  set("PET_LOCAL_ADDR", process.node.data_address());
  // The chief does not recognize itself by this address if its host name resolves to 127.0.0.1.
  if (process.node.node_rank() == 0) set("PET_RDZV_CONF", "is_host=1");
  set("NODE_RANK", node);
  set("MASTER_ADDR", ChiefAddress(plan));
  set("MASTER_PORT", port);
}

}  // namespace

void SetTorchVariables(const Process& process, const SetVariable& set) {
  if (PerDevice(process.plan)) {
    SetTorchRank(process, set);
  } else if (process.plan.program_kind() == v1::PROGRAM_KIND_PER_NODE) {
    SetTorchrun(process, set);
  }
}

const Framework kTorch = {
    "torch",
    "PyTorch, and what is built on it; --per node: torchrun",
    {v1::PROGRAM_KIND_PER_DEVICE, v1::PROGRAM_KIND_PER_NODE, v1::PROGRAM_KIND_PER_JOB},
    /*uses_master_port=*/true,
    SetTorchVariables,
    nullptr,
    ReserveMasterPort,
};

}  // namespace autodist::framework
