// MindSpore's dynamic cluster. Sources of the names: cluster_context.cc and constants.h in the
// distributed runtime. It needs a scheduler, which is another process of the same program.
#include "framework/world.h"

namespace autodist::framework {
namespace {

void SetMindsporeVariables(const Process& process, const SetVariable& set) {
  const v1::LaunchPlan& plan = process.plan;
  set("MS_ROLE", process.rank.auxiliary() ? "MS_SCHED" : "MS_WORKER");
  set("MS_SCHED_HOST", ChiefAddress(plan));
  set("MS_SCHED_PORT", std::to_string(plan.master_port()));
  set("MS_WORKER_NUM", std::to_string(plan.world_size()));
  if (process.rank.auxiliary()) return;
  set("MS_NODE_ID", std::to_string(process.rank.rank()));  // a number selects the rank
  set("MS_WORKER_IP", process.node.data_address());
}

void ExtendMindspore(v1::LaunchPlan& plan) {
  ReserveMasterPort(plan);
  v1::NodePlan& chief = *plan.mutable_nodes(0);
  const auto argv = chief.ranks(0).argv();
  *AddAuxiliary(plan, chief, "the scheduler").mutable_argv() = argv;
}

}  // namespace

const Framework kMindspore = {
    "mindspore",
    "MindSpore, with its scheduler as one more process on node 0",
    {v1::PROGRAM_KIND_PER_DEVICE},
    /*uses_master_port=*/true,
    SetMindsporeVariables,
    nullptr,
    ExtendMindspore,
};

}  // namespace autodist::framework
