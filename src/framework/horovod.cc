// Horovod over Gloo, without horovodrun. Sources of the names: horovod/common/gloo/gloo_context.cc
// and horovod/runner/gloo_run.py. The launcher must serve the HTTP key/value store through which
// ranks find each other: an additional process on node 0.
#include "framework/world.h"

namespace autodist::framework {
namespace {

// The number of nodes that have this local rank, and how many of them come before `node`.
struct Cross {
  uint32_t size = 0;
  uint32_t rank = 0;
};

Cross CrossOf(const Process& process) {
  Cross cross;
  for (const v1::NodePlan& node : process.plan.nodes()) {
    if (static_cast<uint32_t>(node.devices_size()) <= process.rank.local_rank()) continue;
    if (node.node_rank() < process.node.node_rank()) ++cross.rank;
    ++cross.size;
  }
  return cross;
}

void SetHorovodVariables(const Process& process, const SetVariable& set) {
  if (process.rank.auxiliary()) return;
  const v1::LaunchPlan& plan = process.plan;
  const Cross cross = CrossOf(process);
  set("HOROVOD_HOSTNAME", process.node.data_address());
  set("HOROVOD_RANK", std::to_string(process.rank.rank()));
  set("HOROVOD_SIZE", std::to_string(plan.world_size()));
  set("HOROVOD_LOCAL_RANK", std::to_string(process.rank.local_rank()));
  set("HOROVOD_LOCAL_SIZE", std::to_string(process.node.devices_size()));
  set("HOROVOD_CROSS_RANK", std::to_string(cross.rank));
  set("HOROVOD_CROSS_SIZE", std::to_string(cross.size));
  set("HOROVOD_GLOO_RENDEZVOUS_ADDR", ChiefAddress(plan));
  set("HOROVOD_GLOO_RENDEZVOUS_PORT", std::to_string(plan.master_port()));
  set("HOROVOD_CONTROLLER", "gloo");
  set("HOROVOD_CPU_OPERATIONS", "gloo");
}

Status CheckHorovod(const v1::LaunchPlan& plan) {
  // Ranks connect to the store at "http://" + address + ":" + port.
  return CheckIpv4(plan, "Horovod");
}

void ExtendHorovod(v1::LaunchPlan& plan) {
  ReserveMasterPort(plan);
  v1::NodePlan& chief = *plan.mutable_nodes(0);
  v1::RankPlan& store = AddAuxiliary(plan, chief, "Horovod's rendezvous");
  store.set_by_agent(true);
  store.add_argv("horovod-store");
  store.add_argv(ChiefAddress(plan));
  store.add_argv(std::to_string(plan.master_port()));
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    AddDefault(node, "HOROVOD_GLOO_IFACE").set_on_node("{interface}");
  }
}

}  // namespace

const Framework kHorovod = {
    "horovod",
    "Horovod, without horovodrun",
    {v1::PROGRAM_KIND_PER_DEVICE},
    /*uses_master_port=*/true,
    SetHorovodVariables,
    CheckHorovod,
    ExtendHorovod,
};

}  // namespace autodist::framework
