// Sources of the names: deepspeed/comm/comm.py and deepspeed/launcher/launch.py.
#include "framework/world.h"

namespace autodist::framework {
namespace {

void SetDeepspeedVariables(const Process& process, const SetVariable& set) {
  SetTorchVariables(process, set);
  set("CROSS_RANK", std::to_string(process.node.node_rank()));
  set("CROSS_SIZE", std::to_string(process.plan.nodes_size()));
  set("LOCAL_SIZE", std::to_string(process.node.devices_size()));
}

}  // namespace

const Framework kDeepspeed = {
    "deepspeed",
    "DeepSpeed scripts, without its own launcher",
    {v1::PROGRAM_KIND_PER_DEVICE},
    /*uses_master_port=*/true,
    SetDeepspeedVariables,
    nullptr,
    ReserveMasterPort,
};

}  // namespace autodist::framework
