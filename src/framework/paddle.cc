// Sources of the names: paddle/distributed/parallel.py for ranks,
// paddle/distributed/launch/context/args_envs.py for its launcher, and
// paddle/distributed/cloud_utils.py for programs that call dist.spawn.
#include <absl/strings/str_join.h>

#include <algorithm>

#include "base/quantity.h"
#include "framework/world.h"

namespace autodist::framework {
namespace {

std::string AllEndpoints(const v1::LaunchPlan& plan) {
  return absl::StrJoin(plan.nodes(), ",", [&](std::string* text, const v1::NodePlan& node) {
    *text += absl::StrJoin(EndpointsOf(plan, node), ",");
  });
}

std::string Master(const v1::LaunchPlan& plan) {
  return HostAndPort(ChiefAddress(plan), plan.master_port());
}

void SetPaddleRank(const Process& process, const SetVariable& set) {
  const v1::LaunchPlan& plan = process.plan;
  const std::string rank = std::to_string(process.rank.rank());
  const std::string local_rank = std::to_string(process.rank.local_rank());
  const std::string world = std::to_string(plan.world_size());
  set("PADDLE_MASTER", Master(plan));
  set("PADDLE_TRAINER_ID", rank);
  set("PADDLE_TRAINERS_NUM", world);
  set("PADDLE_CURRENT_ENDPOINT", EndpointsOf(plan, process.node)[process.rank.local_rank()]);
  set("PADDLE_TRAINER_ENDPOINTS", AllEndpoints(plan));
  set("PADDLE_GLOBAL_RANK", rank);
  set("PADDLE_GLOBAL_SIZE", world);
  set("PADDLE_LOCAL_RANK", local_rank);
  set("PADDLE_LOCAL_SIZE", std::to_string(process.node.devices_size()));
  set("PADDLE_RANK_IN_NODE", local_rank);
  set("PADDLE_NNODES", std::to_string(plan.nodes_size()));
  set("PADDLE_JOB_ID", plan.job_id());
  if (OnGpus(process.node)) {
    set("FLAGS_selected_gpus", local_rank);  // an index in CUDA_VISIBLE_DEVICES
  } else {
    set("PADDLE_DISTRI_BACKEND", "gloo");
  }
}

bool SameNumberOnAllNodes(const v1::LaunchPlan& plan) {
  return std::ranges::all_of(plan.nodes(), [&](const v1::NodePlan& node) {
    return node.devices_size() == plan.nodes(0).devices_size();
  });
}

// dist.spawn reads the cluster from these instead of from its argument `ips`.
void SetForSpawn(const Process& process, const SetVariable& set) {
  const v1::LaunchPlan& plan = process.plan;
  set("PADDLE_TRAINERS", DataAddresses(plan));
  set("PADDLE_TRAINER_ID", std::to_string(process.node.node_rank()));
  set("PADDLE_TRAINERS_NUM", std::to_string(plan.nodes_size()));
  set("PADDLE_TRAINER_ENDPOINTS", AllEndpoints(plan));
  set("DISTRIBUTED_TRAINER_ENDPOINTS", AllEndpoints(plan));
  set("TRAINER_PORTS_NUM", std::to_string(process.node.devices_size()));
}

void SetPaddleLauncher(const Process& process, const SetVariable& set) {
  const v1::LaunchPlan& plan = process.plan;
  set("PADDLE_MASTER", Master(plan));
  set("PADDLE_NNODES", std::to_string(plan.nodes_size()));
  set("PADDLE_NPROC_PER_NODE", std::to_string(process.node.devices_size()));
  set("PADDLE_RANK", std::to_string(process.node.node_rank()));
  set("PADDLE_JOB_ID", plan.job_id());
  set("POD_IP", process.node.data_address());
  // The launcher takes an empty list for one GPU without a number. With this value it looks for
  // GPUs, and CUDA shows none by that name.
  if (!OnGpus(process.node)) set("CUDA_VISIBLE_DEVICES", "all");
  // On CPUs, spawn supports only one node; and it needs the same number of ranks on each.
  if (OnGpus(process.node) && SameNumberOnAllNodes(plan)) SetForSpawn(process, set);
}

void SetPaddleVariables(const Process& process, const SetVariable& set) {
  if (PerDevice(process.plan)) {
    SetPaddleRank(process, set);
  } else {
    SetPaddleLauncher(process, set);
  }
}

// Whether the program may call spawn. A shell script may also start the launcher.
bool MaySpawn(const v1::RankPlan& process) {
  const auto& argv = process.argv();
  if (argv.empty() || !argv[0].substr(argv[0].rfind('/') + 1).starts_with("python")) return false;
  return std::ranges::none_of(argv, [](const std::string& word) {
    return word.ends_with("paddle.distributed.launch") || word.ends_with("fleetrun");
  });
}

// Without the cluster's variables, spawn silently trains on its own node alone.
Status CheckSpawn(const v1::LaunchPlan& plan) {
  const bool per_node = plan.program_kind() == v1::PROGRAM_KIND_PER_NODE;
  if (!per_node || plan.nodes_size() == 1 || !MaySpawn(plan.nodes(0).ranks(0))) return OkStatus();
  if (std::ranges::all_of(plan.nodes(), OnGpus) && SameNumberOnAllNodes(plan)) return OkStatus();
  const auto add = [](std::string* text, const v1::NodePlan& node) {
    *text += node.address() + " has " +
             base::Count(static_cast<size_t>(node.devices_size()), OnGpus(node) ? "GPU" : "CPU");
  };
  return WithRemedy(
      Error(StatusCode::kInvalidArgument,
            "a program that calls paddle.distributed.spawn would train alone on each node: spawn "
            "needs the same number of GPUs on all of them, but " +
                absl::StrJoin(plan.nodes(), ", ", add)),
      "leave out --per node, or start it by python -m paddle.distributed.launch");
}

Status CheckPaddle(const v1::LaunchPlan& plan) {
  AD_RETURN_IF_ERROR(CheckIpv4(plan, "Paddle"));
  return CheckSpawn(plan);
}

void ExtendPaddle(v1::LaunchPlan& plan) {
  ReserveMasterPort(plan);
  ReserveRankPorts(plan);
}

}  // namespace

const Framework kPaddle = {
    "paddle",
    "PaddlePaddle; --per node: python -m paddle.distributed.launch, and programs that spawn",
    {v1::PROGRAM_KIND_PER_DEVICE, v1::PROGRAM_KIND_PER_NODE},
    /*uses_master_port=*/true,
    SetPaddleVariables,
    CheckPaddle,
    ExtendPaddle,
    /*uses_rank_ports=*/true,
};

}  // namespace autodist::framework
